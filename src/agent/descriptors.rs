//! File descriptors, of which the program must not run out for the sake of its profile.

use std::fs;
use std::io;

use rustix::process::{Resource, getrlimit};

/// How many must be free: two for the output, the rest for the VM, which opens libraries and jars while it starts.
pub(super) const NEEDED: u64 = 10;

/// Whether too few are free (`ulimit -n`). Where the system does not tell, there are enough.
pub(super) fn are_scarce() -> bool {
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return false;
    };
    match fs::read_dir("/proc/self/fd") {
        // The one that this folder is read by will be free again.
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

/// Whether an error says that there is none left, in this process or the whole system.
pub(super) fn is_lack(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
