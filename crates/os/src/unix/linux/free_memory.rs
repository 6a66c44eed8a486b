//! The memory that this process may take without being killed for it.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns it; `None` if the system does not reveal how much is free.
pub(in crate::unix) fn free() -> Option<u64> {
    free_in(Path::new("/"))
}

/// Returns the memory that is free, given the root of the file system: that of the machine, and of the control groups
/// that the process is in, of both versions.
fn free_in(root: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let machine =
        number_after(&read("proc/meminfo"), "MemAvailable:").map(|kilobytes| kilobytes << 10);
    let groups = read("proc/self/cgroup");
    let groups = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let groups = groups.filter_map(|(controllers, path)| {
        let version = match controllers {
            "" => &SECOND,
            _ if controllers.split(',').any(|one| one == "memory") => &FIRST,
            _ => return None,
        };
        version.free(root, path)
    });
    groups.chain(machine).min()
}

/// The files of a version of control groups.
struct Version {
    /// The folders where they may be mounted.
    mounts: &'static [&'static str],
    limit: &'static str,
    usage: &'static str,
    /// The label of the pages of files that are not in use, in `memory.stat`.
    unused: &'static str,
}

const FIRST: Version = Version {
    mounts: &["sys/fs/cgroup/memory"],
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    unused: "total_inactive_file ",
};

const SECOND: Version = Version {
    mounts: &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
    limit: "memory.max",
    usage: "memory.current",
    unused: "inactive_file ",
};

impl Version {
    /// Returns the least that is free in a group and those above it; `None` if none of them has a limit. In a container, the
    /// path may be that outside of it: then the group is the one at the mount.
    fn free(&self, root: &Path, path: &str) -> Option<u64> {
        let frees = self.mounts.iter().filter_map(|mount| {
            let mount = root.join(mount);
            let group = mount.join(path.trim_start_matches('/'));
            let groups = group
                .ancestors()
                .take_while(|group| group.starts_with(&mount));
            groups.filter_map(|group| self.free_in_group(group)).min()
        });
        frees.min()
    }

    fn free_in_group(&self, group: &Path) -> Option<u64> {
        let read = |file: &str| fs::read_to_string(PathBuf::from(group).join(file)).ok();
        // Without a limit it is `max`, or a number larger than any memory.
        let limit: u64 = read(self.limit)?.trim().parse().ok()?;
        let usage: u64 = read(self.usage)?.trim().parse().ok()?;
        let unused = number_after(&read("memory.stat")?, self.unused).unwrap_or_default();
        Some(limit.saturating_sub(usage.saturating_sub(unused)))
    }
}

/// Returns the number in the line that starts with a label.
fn number_after(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       24000 kB\nMemFree:         1000 kB\nMemAvailable:   16000 kB\n",
    );

    fn free(files: &[(&str, &str)]) -> Option<u64> {
        let root = TempDir::new().expect("a folder");
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("room for it");
            fs::write(path, content).expect("room for it");
        }
        free_in(root.path())
    }

    #[test]
    fn without_groups_it_is_the_machines() {
        assert_eq!(free(&[]), None);
        assert_eq!(free(&[MEMINFO]), Some(16_000 << 10));
        assert_eq!(
            free(&[MEMINFO, ("proc/self/cgroup", "0::/\n")]),
            Some(16_000 << 10)
        );
    }

    #[test]
    fn a_group_of_version_2_limits_it_and_so_do_those_above() {
        let group = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice/a.scope\n"),
            ("sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n"),
            (
                "sys/fs/cgroup/user.slice/a.scope/memory.current",
                "3000000\n",
            ),
            (
                "sys/fs/cgroup/user.slice/a.scope/memory.stat",
                "inactive_file 9\n",
            ),
            ("sys/fs/cgroup/user.slice/memory.max", "8000000\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "5000000\n"),
            (
                "sys/fs/cgroup/user.slice/memory.stat",
                "anon 7\ninactive_file 1000000\n",
            ),
        ];
        assert_eq!(free(&group), Some(4_000_000));
        // The group of a container is at the mount, whatever its path is outside.
        let container = [
            MEMINFO,
            ("proc/self/cgroup", "0::/../../outside\n"),
            ("sys/fs/cgroup/memory.max", "2000000\n"),
            ("sys/fs/cgroup/memory.current", "2500000\n"),
            ("sys/fs/cgroup/memory.stat", ""),
        ];
        assert_eq!(free(&container), Some(0));
    }

    #[test]
    fn a_group_of_version_1_limits_it() {
        let unlimited = "9223372036854771712\n";
        let group = |limit| {
            free(&[
                MEMINFO,
                ("proc/self/cgroup", "5:cpu:/\n4:hugetlb,memory:/a/b\n0::/\n"),
                ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", limit),
                ("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "700\n"),
                (
                    "sys/fs/cgroup/memory/a/b/memory.stat",
                    "inactive_file 1\ntotal_inactive_file 200\n",
                ),
            ])
        };
        assert_eq!(group("1000000\n"), Some(1_000_000 - 500));
        assert_eq!(group(unlimited), Some(16_000 << 10));
    }
}
