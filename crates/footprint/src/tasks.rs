//! The threads of a process, from `/proc/PID/task`.

use std::fs;
use std::path::Path;

/// Returns the system's ids of the threads, from `/proc/PID/task`.
#[must_use]
pub fn ids(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

/// Returns the address that a thread's stack pointer has, from the text of `/proc/PID/task/TID/syscall`; `None` if the thread
/// runs.
#[must_use]
pub fn stack_pointer(syscall: &str) -> Option<usize> {
    // The last two words are the stack pointer and the program counter.
    let mut words = syscall.split_ascii_whitespace().rev();
    let (_, stack) = (words.next()?, words.next()?);
    usize::from_str_radix(stack.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_shows_where() {
        let waits =
            "202 0x7f9b3c0008c8 0x189 0x0 0x0 0x0 0xffffffff 0x7f9b43ffe5c0 0x7f9b4a089f16\n";
        assert_eq!(stack_pointer(waits), Some(0x7f9b_43ff_e5c0));
        let faults = "-1 0x7ffc5b4e8b40 0x55a6d3f6a1c9\n";
        assert_eq!(stack_pointer(faults), Some(0x7ffc_5b4e_8b40));
        for other in ["running\n", "", "1", "a b"] {
            assert_eq!(stack_pointer(other), None, "{other}");
        }
        let own = ids(Path::new("/proc/self/task"));
        assert!(own.contains(&i32::try_from(std::process::id()).expect("an id")));
    }
}
