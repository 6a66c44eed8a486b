//! The memory for a forked child. What the program writes while the child works exists twice, and the VM keeps a tag of each
//! object for the child.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::DumpError;
use jvmti::{Env, HeapSize};

/// The memory that a child may take, in heaps: one for copies of what the program writes, one for tags.
const HEAPS: u64 = 2;

/// The least memory that is left to the program while its child works, or a heap if that is less: more than a program writes
/// between two looks.
const LEAST: u64 = 256 << 20;

/// The memory for a child.
pub(super) struct Room {
    least: u64,
}

impl Room {
    /// Returns an error if the system, or a control group of the program, has less memory left than a child may take.
    pub(super) fn check(env: Env) -> Result<Self, DumpError> {
        let heap = HeapSize::find(env)
            .ok_or_else(|| refused("the VM does not report how full the heap is"))?;
        let used = heap.fill().used;
        let needed = used.saturating_mul(HEAPS);
        let free = free(Path::new("/"))
            .ok_or_else(|| refused("the system does not report how much memory is free"))?;
        match needed <= free {
            true => Ok(Self {
                least: used.min(LEAST),
            }),
            false => Err(DumpError::NoFork(format!(
                "the child may take {needed} bytes of memory, and {free} are free"
            ))),
        }
    }

    /// Returns an error if the program, or others, have left too little of it meanwhile.
    pub(super) fn is_left(&self) -> io::Result<()> {
        match free(Path::new("/")) {
            Some(free) if free < self.least => {
                let reason = format!("it was ended because only {free} bytes of memory were free");
                Err(io::Error::other(reason))
            }
            _ => Ok(()),
        }
    }
}

fn refused(reason: &str) -> DumpError {
    DumpError::NoFork(reason.to_owned())
}

/// Returns the bytes that processes of this control group may still take.
fn free(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let available = value(&meminfo, "MemAvailable:")? << 10;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| Group::of(root, line));
    let left = limits.filter_map(|group| group.left());
    Some(left.fold(available, u64::min))
}

/// The files of a control group.
struct Group {
    top: PathBuf,
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

impl Group {
    /// Finds the group of a line of `/proc/self/cgroup`, if it counts memory.
    fn of(root: &Path, line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let path = path.trim_start_matches('/');
        let is_first = controllers.split(',').any(|name| name == "memory");
        let (top, limit, usage, cache) = match (is_first, controllers.is_empty()) {
            (true, _) => (
                "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
            (false, true) => (
                "sys/fs/cgroup",
                "memory.max",
                "memory.current",
                "inactive_file",
            ),
            (false, false) => return None,
        };
        let top = root.join(top);
        Some(Self {
            folder: top.join(path),
            top,
            limit,
            usage,
            cache,
        })
    }

    /// Returns what is left of the tightest limit, of the group or of one around it.
    fn left(&self) -> Option<u64> {
        let around = self.folder.ancestors();
        let groups = around.take_while(|folder| folder.starts_with(&self.top));
        groups.filter_map(|folder| self.left_in(folder)).min()
    }

    fn left_in(&self, folder: &Path) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        // `max` is no limit.
        let limit: u64 = read(self.limit)?.trim().parse().ok()?;
        let usage: u64 = read(self.usage)?.trim().parse().ok()?;
        let cache = read("memory.stat").and_then(|stat| value(&stat, self.cache));
        Some(limit.saturating_sub(usage.saturating_sub(cache.unwrap_or(0))))
    }
}

/// Returns the number after a name that a line begins with.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free_with(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().expect("a folder");
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        free(root.path())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemFree: 1 kB\nMemAvailable:    9000 kB\n");

    #[test]
    fn the_tightest_limit_counts() {
        assert_eq!(free_with(&[]), None);
        assert_eq!(free_with(&[MEMINFO]), Some(9_216_000));
        let group = "sys/fs/cgroup/pod/app";
        let limited = [
            MEMINFO,
            ("proc/self/cgroup", "0::/pod/app\n"),
            (&format!("{group}/memory.max"), "max\n"),
            (&format!("{group}/memory.current"), "3000000\n"),
            ("sys/fs/cgroup/pod/memory.max", "5000000\n"),
            ("sys/fs/cgroup/pod/memory.current", "4000000\n"),
            (
                "sys/fs/cgroup/pod/memory.stat",
                "anon 7\ninactive_file 500000\n",
            ),
        ];
        assert_eq!(free_with(&limited), Some(1_500_000));
        let first = [
            MEMINFO,
            ("proc/self/cgroup", "3:cpu:/x\n7:memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "800\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n"),
        ];
        assert_eq!(free_with(&first), Some(0));
    }
}
