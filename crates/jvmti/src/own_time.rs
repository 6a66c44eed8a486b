//! Marks the threads that are in the agent's own code, for the handler of CPU samples: a sample that is taken there is
//! charged to the agent, not to the program.
//!
//! The mark is a value of the C library's thread-specific data, which a signal handler can read.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

use super::os::key::{self, Key};

/// The key of the mark; created when samples are first taken.
static KEY: OnceLock<Option<Key>> = OnceLock::new();

/// Returns the key, which is created if need be; `None` if the process has no more keys.
pub(super) fn key() -> Option<Key> {
    *KEY.get_or_init(key::new)
}

/// Charges the current thread's time to the agent until it is dropped. These nest: the outermost one ends the mark.
pub(super) struct OwnTime(Option<(Key, *mut c_void)>);

impl OwnTime {
    /// Marks the current thread, if samples are taken.
    #[inline]
    pub(super) fn begin() -> Self {
        let Some(&Some(key)) = KEY.get() else {
            return Self(None);
        };
        let before = key::value(key);
        // Without memory for it, the thread stays unmarked.
        key::set(key, ptr::without_provenance(1));
        Self(Some((key, before)))
    }
}

impl Drop for OwnTime {
    #[inline]
    fn drop(&mut self) {
        if let Some((key, before)) = self.0 {
            key::set(key, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_marked_until_the_outermost_part_ends() {
        let key = key().expect("a key");
        let is_marked = || !key::value(key).is_null();
        assert!(!is_marked());
        let outer = OwnTime::begin();
        let inner = OwnTime::begin();
        assert!(is_marked());
        drop(inner);
        assert!(is_marked());
        drop(outer);
        assert!(!is_marked());
    }
}
