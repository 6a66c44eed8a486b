//! `file=` as a path: `%p`, `%t`, `%h`, `%m` and `%{NAME}` are replaced, so that one command line serves many processes.

use std::env;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::error::OptionError;

/// The values that placeholders in a file name are replaced with.
pub struct Surroundings {
    /// `%p`.
    pub pid: u32,
    /// `%t`, as `20261120-103911`.
    pub start_time: String,
    /// `%h`.
    pub host: String,
    /// `%m`: the name of the program, in letters that every file name may have.
    pub program: String,
    /// `%{NAME}`.
    pub variable: fn(&str) -> Option<String>,
}

impl Surroundings {
    /// Returns the values for this process. `command` is the main class or the jar that the VM runs, with its arguments,
    /// if the VM knows it.
    pub fn of_this_process(command: Option<&str>) -> Self {
        Self {
            pid: std::process::id(),
            start_time: chrono::Local::now().format("%Y%m%d-%H%M%S").to_string(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            program: program_name(command.unwrap_or_default()),
            variable: |name| env::var(name).ok(),
        }
    }

    /// Replaces the placeholders. `%%` is a percent sign; a `%` before anything else stays, because old scripts may
    /// have it.
    pub fn expand(&self, file: &str) -> Result<PathBuf, OptionError> {
        let mut path = String::with_capacity(file.len());
        let mut rest = file;
        while let Some((before, after)) = rest.split_once('%') {
            path.push_str(before);
            rest = match after.chars().next() {
                Some('p') => {
                    path.push_str(&self.pid.to_string());
                    &after[1..]
                }
                Some('t') => {
                    path.push_str(&self.start_time);
                    &after[1..]
                }
                Some('h') => {
                    path.push_str(&self.host);
                    &after[1..]
                }
                Some('m') => {
                    path.push_str(&self.program);
                    &after[1..]
                }
                Some('%') => {
                    path.push('%');
                    &after[1..]
                }
                Some('{') => {
                    let (name, after) =
                        after[1..]
                            .split_once('}')
                            .ok_or_else(|| OptionError::OpenVariable {
                                file: file.to_owned(),
                            })?;
                    let value = (self.variable)(name).ok_or_else(|| OptionError::NoVariable {
                        file: file.to_owned(),
                        variable: name.to_owned(),
                    })?;
                    path.push_str(&value);
                    after
                }
                _ => {
                    path.push('%');
                    after
                }
            };
        }
        path.push_str(rest);
        Ok(path.into())
    }
}

/// The name of a program that has none, such as a VM that another program creates.
const NO_NAME: &str = "java";
/// The most letters of a program's name.
const LONGEST_NAME: usize = 80;

/// Returns the simple name of the main class, or the name of the jar: `Main` for `shop.Main --port 80`, for
/// `shop/shop.Main` (a module's) and for `/opt/Main.jar`. Whoever starts the program chooses it, so anything that a
/// shell or a terminal might interpret becomes `_`.
fn program_name(command: &str) -> String {
    let path = command.split_whitespace().next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = match name.strip_suffix(".jar") {
        Some(jar) => jar,
        None => name.rsplit('.').next().unwrap_or(name),
    };
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let letters = name.trim_start_matches(['.', '-']).chars();
    let name: String = letters
        .take(LONGEST_NAME)
        .map(|letter| if is_safe(letter) { letter } else { '_' })
        .collect();
    match name.is_empty() {
        true => NO_NAME.to_owned(),
        false => name,
    }
}

/// Inserts a number into a file name that is already taken: `java.hprof.txt` becomes `java.hprof.4711.txt`. The suffix
/// stays at the end, so that the same shell pattern matches both.
pub fn with_number(path: &Path, number: impl Display) -> PathBuf {
    let mut name = path.to_owned();
    let mut suffix = String::new();
    for known in [&["gz"][..], &["txt", "hprof"]] {
        let found = known
            .iter()
            .find(|known| name.extension().is_some_and(|found| found == **known));
        if let Some(found) = found {
            name.set_extension("");
            suffix.insert_str(0, &format!(".{found}"));
        }
    }
    let mut name = name.into_os_string();
    name.push(format!(".{number}{suffix}"));
    name.into()
}

/// Returns the name of a further file of the profile at `path`, in the binary format: `java.oom-1.hprof` for
/// `java.hprof.txt` and `java.hprof`. One that is compressed has the suffix of that.
pub fn companion_path(path: &Path, what: impl Display, is_compressed: bool) -> PathBuf {
    let mut name = path.to_owned();
    for known in ["gz", "txt", "hprof"] {
        if name.extension().is_some_and(|found| found == known) {
            name.set_extension("");
        }
    }
    let mut name = name.into_os_string();
    name.push(format!(
        ".{what}.hprof{}",
        if is_compressed { ".gz" } else { "" }
    ));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(file: &str) -> Result<String, String> {
        let surroundings = Surroundings {
            pid: 4711,
            start_time: "20261120-103911".to_owned(),
            host: "build7".to_owned(),
            program: "Main".to_owned(),
            variable: |name| (name == "JOB").then(|| "nightly".to_owned()),
        };
        surroundings
            .expand(file)
            .map(|path| path.to_string_lossy().into_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_stands_for_something_is_filled_in() {
        assert_eq!(expand("plain.txt"), Ok("plain.txt".to_owned()));
        assert_eq!(
            expand("/tmp/%h/%{JOB}-%p-%t.hprof"),
            Ok("/tmp/build7/nightly-4711-20261120-103911.hprof".to_owned())
        );
        assert_eq!(expand("%m-%p.txt"), Ok("Main-4711.txt".to_owned()));
        assert_eq!(expand("100%%"), Ok("100%".to_owned()));
        assert_eq!(expand("50%x%"), Ok("50%x%".to_owned()));
        assert_eq!(expand("%é"), Ok("%é".to_owned()));
    }

    #[test]
    fn a_variable_that_is_not_there_is_an_error() {
        assert_eq!(
            expand("%{NO}"),
            Err("option file=%{NO}: the environment has no variable NO".to_owned())
        );
        assert_eq!(
            expand("a%{JOB"),
            Err("option file=a%{JOB: '%{' must be closed by '}'".to_owned())
        );
    }

    #[test]
    fn a_program_has_a_name_that_every_shell_takes() {
        let cases = [
            ("Main", "Main"),
            ("shop.Main --port 80 x.y", "Main"),
            ("shop/shop.web.Main 1", "Main"),
            ("/opt/apps/shop-1.2.jar --port 80", "shop-1.2"),
            ("shop.jar", "shop"),
            ("jarring.Main a.jar", "Main"),
            ("a.Outer$Inner", "Outer_Inner"),
            ("a.$(reboot);\u{1b}[2J", "__reboot____2J"),
            ("--x.jar", "x"),
            ("Größe", "Gr__e"),
            ("", "java"),
        ];
        for (command, name) in cases {
            assert_eq!(program_name(command), name, "{command}");
        }
        assert_eq!(program_name(&"x".repeat(500)).len(), LONGEST_NAME);
    }

    #[test]
    fn the_number_goes_before_the_suffix() {
        assert_eq!(
            with_number(Path::new("d/java.hprof.txt"), 7),
            Path::new("d/java.hprof.7.txt")
        );
        assert_eq!(
            with_number(Path::new("d.txt/java.hprof"), 7),
            Path::new("d.txt/java.7.hprof")
        );
        assert_eq!(
            with_number(Path::new("java.hprof.txt.gz"), 7),
            Path::new("java.hprof.7.txt.gz")
        );
        assert_eq!(
            with_number(Path::new("a.hprof.gz"), 7),
            Path::new("a.7.hprof.gz")
        );
        assert_eq!(
            with_number(Path::new("d.hprof/profile"), 7),
            Path::new("d.hprof/profile.7")
        );
    }

    #[test]
    fn a_further_file_has_the_name_of_the_profile() {
        let cases = [
            ("java.hprof.txt", false, "java.oom-1.hprof"),
            ("/a/java.hprof", false, "/a/java.oom-1.hprof"),
            ("java.hprof.txt.gz", true, "java.oom-1.hprof.gz"),
            ("x.txt", true, "x.oom-1.hprof.gz"),
            ("x.profile", false, "x.profile.oom-1.hprof"),
            ("/var/a.b/x", false, "/var/a.b/x.oom-1.hprof"),
        ];
        for (path, is_compressed, name) in cases {
            let found = companion_path(Path::new(path), "oom-1", is_compressed);
            assert_eq!(found, Path::new(name), "{path}");
        }
    }
}
