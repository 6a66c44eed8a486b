//! The findings that hold for every program of this machine, or of this container.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{Resource, geteuid, getrlimit};

use super::{Finding, agent};
use crate::attach::process::{self, Process};

/// The free space, in bytes, below which a warning is given. A profile of sites or samples is rarely larger; heap dumps
/// are as large as the heap.
const LITTLE_SPACE: u64 = 100 << 20;

/// Returns the findings.
pub fn findings(named: Option<&Path>) -> Vec<Finding> {
    let mut findings = vec![library(named), java(), user(), container()];
    findings.extend([samples(), disk("/tmp"), disk("."), file_size()]);
    findings
}

/// Returns the finding about JVMs that could be attached to.
pub fn programs() -> Option<Finding> {
    let count = process::ids()
        .into_iter()
        .filter(|&pid| Process::find(pid).is_ok())
        .count();
    Some(match count {
        0 => Finding::differs(
            "programs",
            "no JVM runs that this user may attach to; start one with -agentpath",
        ),
        count => Finding::works(
            "programs",
            format!(
                "{count} JVMs run that this user may attach to; `hprof doctor PID` looks at one"
            ),
        ),
    })
}

/// Returns the C library that this command and its agent were built for.
pub fn libc() -> &'static str {
    if cfg!(target_env = "musl") {
        "musl"
    } else {
        "glibc"
    }
}

fn library(named: Option<&Path>) -> Finding {
    let found = named.map_or_else(agent::installed_library, |named| Ok(named.to_owned()));
    let library = match found {
        Ok(library) => library,
        Err(error) => return Finding::fails("library", error.to_string()),
    };
    let folder = library.parent().unwrap_or(Path::new("/"));
    let is_noexec =
        statvfs(folder).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC));
    let text = format!(
        "{}, for {} and {}",
        library.display(),
        env::consts::ARCH,
        libc()
    );
    match is_noexec {
        true => Finding::fails(
            "library",
            format!("{text}: its file system is mounted noexec, copy it to another"),
        ),
        false => Finding::works("library", text),
    }
}

/// Returns the finding about the JDK of a plain `java`. It is not run: its file `release` is read.
fn java() -> Finding {
    let homes = env::var_os("JAVA_HOME").map(PathBuf::from);
    let on_path = env::var_os("PATH").and_then(|path| {
        let found = env::split_paths(&path).map(|folder| folder.join("java"));
        let java = found.into_iter().find(|java| java.is_file())?;
        Some(fs::canonicalize(java).ok()?.parent()?.parent()?.to_owned())
    });
    for home in homes.into_iter().chain(on_path) {
        let Ok(release) = fs::read_to_string(home.join("release")) else {
            continue;
        };
        let version = release
            .lines()
            .find_map(|line| line.strip_prefix("JAVA_VERSION="));
        let version = version.unwrap_or("").trim_matches('"');
        return match feature(version) {
            Some(feature) if is_tested(feature) => {
                Finding::works("java", format!("{version} in {}", home.display()))
            }
            _ => Finding::differs("java", unsupported(version, &home.display().to_string())),
        };
    }
    Finding::differs(
        "java",
        "neither JAVA_HOME nor PATH has one; programs may bring their own",
    )
}

/// Returns the number of the release: 17 of 17.0.15, 8 of 1.8.0_402.
pub fn feature(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        return numbers.next()?.parse().ok();
    }
    Some(first)
}

/// Returns `true` if the agent is tested on a release.
pub fn is_tested(feature: u32) -> bool {
    matches!(feature, 11 | 17 | 21 | 25 | 26 | 27)
}

/// Returns the message about a release that is not supported.
pub fn unsupported(version: &str, place: &str) -> String {
    match feature(version) {
        Some(8) => {
            format!("{version} in {place}: JDK 8 has an HPROF of its own, -agentlib:hprof")
        }
        Some(feature) if feature < 11 => format!("{version} in {place}: older than 11"),
        Some(28) => format!("{version} in {place}: tested in early access"),
        _ => format!("{version} in {place}: tested with 11, 17, 21, 25, 26 and 27"),
    }
}

fn user() -> Finding {
    match geteuid().as_raw() {
        0 => Finding::works("user", "root, who may attach to any program"),
        user => Finding::works(
            "user",
            format!("{user}, who may attach to this user's own programs"),
        ),
    }
}

fn container() -> Finding {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    let kubernetes = env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if kubernetes || marks.iter().any(|mark| Path::new(mark).exists()) {
        return Finding::differs(
            "container",
            "this is one: only its own programs can be seen, and files end with it unless file= names a folder that is mounted from outside",
        );
    }
    Finding::works(
        "container",
        "this is none; programs in containers are reached with --agent, a path as they see it",
    )
}

/// Returns the finding about the requirements of CPU samples beyond the VM. perf_events is not used, so its setting
/// does not matter.
fn samples() -> Finding {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let signals = getrlimit(Resource::Sigpending)
        .current
        .map_or("no limit".to_owned(), |limit| limit.to_string());
    Finding::works(
        "samples",
        format!(
            "cpu=samples needs no perf_events (perf_event_paranoid is {}); pending signals: {signals}",
            match paranoid.trim() {
                "" => "not told",
                value => value,
            }
        ),
    )
}

fn disk(folder: &'static str) -> Finding {
    let path = fs::canonicalize(folder).unwrap_or(folder.into());
    let shown = path.display();
    let Ok(system) = statvfs(&path) else {
        return Finding::fails("disk", format!("{shown}: its file system does not answer"));
    };
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Finding::fails(
            "disk",
            format!("{shown} is read-only: name another with file="),
        );
    }
    space(
        "disk",
        &shown.to_string(),
        system.f_bavail * system.f_frsize,
    )
}

/// Returns the finding about an amount of free space.
pub fn space(subject: &'static str, place: &str, free: u64) -> Finding {
    let text = format!("{place} has {} MB free", free >> 20);
    match free < LITTLE_SPACE {
        true => Finding::differs(subject, format!("{text}: little for a profile")),
        false => Finding::works(subject, text),
    }
}

fn file_size() -> Finding {
    match getrlimit(Resource::Fsize).current {
        None => Finding::works("limits", "files may grow without a limit (ulimit -f)"),
        Some(limit) => Finding::differs(
            "limits",
            format!("files end at {limit} bytes (ulimit -f), and so do profiles"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::doctor::Verdict;

    #[test]
    fn a_release_is_known_by_its_first_number_that_counts() {
        for (version, expected) in [
            ("17.0.15", Some(17)),
            ("25", Some(25)),
            ("1.8.0_402", Some(8)),
            ("21-ea", Some(21)),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(feature(version), expected, "{version}");
        }
    }

    #[test]
    fn little_space_is_said() {
        assert_eq!(space("disk", "/x", 1 << 20).verdict, Verdict::Differs);
        assert_eq!(space("disk", "/x", 1 << 30).verdict, Verdict::Works);
        assert_eq!(
            space("disk", "/x", 5 << 20).line(),
            "note  disk       /x has 5 MB free: little for a profile"
        );
    }
}
