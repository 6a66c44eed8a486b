//! Marks the threads that are in the agent's own code, for the handler of CPU samples: a sample that is taken there is
//! charged to the agent, not to the program.
//!
//! The mark is a value of the C library's thread-specific data, which a signal handler can read.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// The key of the mark; created when samples are first taken.
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

/// Returns the key, which is created if need be; `None` if the process has no more keys.
pub(super) fn key() -> Option<libc::pthread_key_t> {
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` receives the answer. There is no destructor, so the values may be anything.
        let status = unsafe { libc::pthread_key_create(&mut key, None) };
        (status == 0).then_some(key)
    })
}

/// Charges the current thread's time to the agent until it is dropped. These nest: the outermost one ends the mark.
pub(super) struct OwnTime(Option<(libc::pthread_key_t, *mut c_void)>);

impl OwnTime {
    /// Marks the current thread, if samples are taken.
    #[inline]
    pub(super) fn begin() -> Self {
        let Some(&Some(key)) = KEY.get() else {
            return Self(None);
        };
        // SAFETY: the key is never deleted. Out of memory is an answer, and leaves the thread unmarked.
        unsafe {
            let before = libc::pthread_getspecific(key);
            libc::pthread_setspecific(key, ptr::without_provenance(1));
            Self(Some((key, before)))
        }
    }
}

impl Drop for OwnTime {
    #[inline]
    fn drop(&mut self) {
        if let Some((key, before)) = self.0 {
            // SAFETY: as in `begin`.
            unsafe { libc::pthread_setspecific(key, before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_marked_until_the_outermost_part_ends() {
        let key = key().expect("a key");
        // SAFETY: the key is there.
        let is_marked = || unsafe { !libc::pthread_getspecific(key).is_null() };
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
