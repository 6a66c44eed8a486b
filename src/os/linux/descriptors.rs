//! File descriptors, which the program must not run out of because of its profile.

use std::fs;
use std::io;

use rustix::process::{Resource, getrlimit};

/// The number that must be free: two for the output, the rest for the VM, which opens libraries and jars while it
/// starts.
pub(crate) const NEEDED: u64 = 10;

/// Returns `true` if too few are free (`ulimit -n`). If the system does not tell, there are enough.
pub(crate) fn are_scarce() -> bool {
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return false;
    };
    match fs::read_dir("/proc/self/fd") {
        // The descriptor used to read this folder will be free again.
        Ok(open) => {
            let numbers = open
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let used = numbers.filter(|&number: &u64| number < limit).count() as u64;
            used + NEEDED > limit.saturating_add(1)
        }
        Err(error) => is_lack(&error),
    }
}

/// Returns `true` if the error means that no descriptor is left, in this process or in the whole system.
pub(crate) fn is_lack(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
