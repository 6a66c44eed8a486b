//! The limit of a cgroup on memory, and its own count: of version 1 and of version 2.
//!
//! The kernel kills a process of the group when the count reaches the limit and nothing can be reclaimed. The count has more
//! than the processes' own pages: files in the page cache (those of tmpfs cannot be reclaimed without swap), and the
//! kernel's memory for the group, buffers of sockets among it.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit from here on is none: version 1 has 2^63 rounded down to pages.
const UNLIMITED: u64 = 1 << 60;

/// What the group has, in bytes; `None` for what is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// The least limit of the group and those around it; `None` if there is none.
    pub limit: Option<u64>,
    /// What counts against that limit.
    pub used: Option<u64>,
    /// Pages of the processes that belong to no file.
    pub anonymous: Option<u64>,
    /// The page cache, and files in tmpfs and shared memory.
    pub file: Option<u64>,
    /// Of these, files in tmpfs and shared memory.
    pub shared: Option<u64>,
    /// The kernel's own for the group: stacks, page tables, caches.
    pub kernel: Option<u64>,
    /// Buffers of sockets.
    pub sockets: Option<u64>,
    /// What is swapped out.
    pub swapped: Option<u64>,
}

impl Cgroup {
    /// Returns the bytes that are left before a process of the group is killed, if there is a limit: files that can be read again
    /// leave first.
    #[must_use]
    pub fn left(&self) -> Option<u64> {
        let reclaimable = self
            .file
            .unwrap_or(0)
            .saturating_sub(self.shared.unwrap_or(0));
        let kept = self.used?.saturating_sub(reclaimable);
        Some(self.limit?.saturating_sub(kept))
    }
}

/// The files of a version.
struct Names {
    limit: &'static str,
    used: &'static str,
    /// The lines of `memory.stat`.
    anonymous: &'static str,
    file: &'static str,
    shared: &'static str,
    swapped: Option<&'static str>,
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    anonymous: "total_rss",
    file: "total_cache",
    shared: "total_shmem",
    swapped: Some("total_swap"),
};

const V2: Names = Names {
    limit: "memory.max",
    used: "memory.current",
    anonymous: "anon",
    file: "file",
    shared: "shmem",
    swapped: None,
};

/// Reads that of the current process; `None` if it is in no group that counts memory, or cannot see its files.
#[must_use]
pub fn of_this_process() -> Option<Cgroup> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    read(Path::new("/sys/fs/cgroup"), &groups)
}

/// Reads that of a process whose `/proc/PID/cgroup` is `groups`, below the folder at which the file system of the groups is
/// mounted.
#[must_use]
pub fn read(root: &Path, groups: &str) -> Option<Cgroup> {
    groups.lines().find_map(|line| {
        // `4:memory:/path` in version 1, `0::/path` in version 2.
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_v1 = controllers.split(',').any(|name| name == "memory");
        match is_v1 {
            true => of_group(&root.join("memory"), path, &V1),
            false if controllers.is_empty() => of_group(root, path, &V2),
            false => None,
        }
    })
}

fn of_group(root: &Path, path: &str, names: &Names) -> Option<Cgroup> {
    // In a container the mounted folder may be the group itself, whatever the path is outside.
    let folder = root.join(path.trim_start_matches('/'));
    let own = [folder, root.to_owned()]
        .into_iter()
        .find(|folder| number(&folder.join(names.used)).is_some())?;
    let limits = limits(root, &own, names);
    let tightest = limits.iter().min_by_key(|(limit, _)| *limit);
    // The count must be that of the group whose limit it is.
    let (limit, counted) = match tightest {
        Some((limit, folder)) => (Some(*limit), folder.clone()),
        None => (None, own.clone()),
    };
    let stat = fs::read_to_string(counted.join("memory.stat")).unwrap_or_default();
    let line = |name: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        let (_, value) = lines.find(|(key, _)| *key == name)?;
        value.parse().ok()
    };
    let file = |name: &str| number(&counted.join(name));
    Some(Cgroup {
        limit,
        used: file(names.used),
        anonymous: line(names.anonymous),
        file: line(names.file),
        shared: line(names.shared),
        kernel: line("kernel").or_else(|| file("memory.kmem.usage_in_bytes")),
        sockets: line("sock").or_else(|| file("memory.kmem.tcp.usage_in_bytes")),
        swapped: match names.swapped {
            Some(name) => line(name),
            None => file("memory.swap.current"),
        },
    })
}

/// Returns the limits of a group and of those around it.
fn limits(root: &Path, own: &Path, names: &Names) -> Vec<(u64, PathBuf)> {
    own.ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| {
            let limit = number(&folder.join(names.limit))?;
            (limit < UNLIMITED).then(|| (limit, folder.to_owned()))
        })
        .collect()
}

/// Reads a file with one number; `None` for `max`.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim_ascii().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
    }

    #[test]
    fn version_2_has_the_tightest_limit_and_the_count_that_belongs_to_it() {
        let root = tempfile::tempdir().expect("a folder");
        let stat = "anon 100\nfile 30\nkernel 7\nkernel_stack 2\nsock 3\nshmem 20\n";
        put(
            root.path(),
            &[
                ("pod/memory.max", "500\n"),
                ("pod/memory.current", "300\n"),
                ("pod/memory.stat", stat),
                ("pod/app/memory.max", "max\n"),
                ("pod/app/memory.current", "250\n"),
                ("pod/app/memory.stat", "anon 90\n"),
                ("pod/memory.swap.current", "9\n"),
            ],
        );
        let found = read(root.path(), "0::/pod/app\n").expect("a group");
        let expected = Cgroup {
            limit: Some(500),
            used: Some(300),
            anonymous: Some(100),
            file: Some(30),
            shared: Some(20),
            kernel: Some(7),
            sockets: Some(3),
            swapped: Some(9),
        };
        assert_eq!(found, expected);
        fs::write(root.path().join("pod/memory.max"), "max").expect("a file");
        let found = read(root.path(), "0::/pod/app\n").expect("a group");
        assert_eq!((found.limit, found.used), (None, Some(250)));
    }

    #[test]
    fn version_1_is_below_its_controller_and_a_container_sees_its_group_as_the_root() {
        let root = tempfile::tempdir().expect("a folder");
        let groups = "5:devices:/\n4:cpu,memory:/docker/1\n0::/\n";
        assert_eq!(read(root.path(), groups), None);
        put(
            root.path(),
            &[
                ("memory/memory.limit_in_bytes", "9223372036854771712"),
                ("memory/memory.usage_in_bytes", "80"),
                (
                    "memory/memory.stat",
                    "cache 1\ntotal_cache 40\ntotal_rss 33\n",
                ),
                ("memory/memory.kmem.usage_in_bytes", "5"),
            ],
        );
        let found = read(root.path(), groups).expect("a group");
        let expected = Cgroup {
            used: Some(80),
            anonymous: Some(33),
            file: Some(40),
            kernel: Some(5),
            ..Cgroup::default()
        };
        assert_eq!(found, expected);
        put(
            root.path(),
            &[
                ("memory/docker/1/memory.limit_in_bytes", "100"),
                ("memory/docker/1/memory.usage_in_bytes", "60"),
            ],
        );
        let found = read(root.path(), groups).expect("a group");
        assert_eq!((found.limit, found.used), (Some(100), Some(60)));
    }
}
