//! Values that each thread has one of, and that a signal handler can read.

use std::ffi::c_void;

pub(crate) type Key = libc::pthread_key_t;

/// Creates a key, which is never deleted; `None` if the process has no more keys. The values may be anything.
pub(crate) fn new() -> Option<Key> {
    let mut key = 0;
    // SAFETY: `key` receives the answer. There is no destructor, so the values may be anything.
    let status = unsafe { libc::pthread_key_create(&mut key, None) };
    (status == 0).then_some(key)
}

/// Returns the current thread's value; null at first.
#[inline]
pub(crate) fn value(key: Key) -> *mut c_void {
    // SAFETY: a key of `new`, or a number that is none, for which there is no value.
    unsafe { libc::pthread_getspecific(key) }
}

/// Sets the current thread's value. Without memory for it, the value stays as it was.
#[inline]
pub(crate) fn set(key: Key, value: *const c_void) {
    // SAFETY: as above. Out of memory is an answer.
    unsafe { libc::pthread_setspecific(key, value) };
}
