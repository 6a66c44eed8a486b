//! Values that each thread has one of.

use std::ffi::c_void;

use windows_sys::Win32::System::Threading::{
    TLS_OUT_OF_INDEXES, TlsAlloc, TlsGetValue, TlsSetValue,
};

pub(crate) type Key = u32;

/// Creates a key, which is never deleted; `None` if the process has no more keys. The values may be anything.
pub(crate) fn new() -> Option<Key> {
    // SAFETY: takes nothing.
    let key = unsafe { TlsAlloc() };
    (key != TLS_OUT_OF_INDEXES).then_some(key)
}

/// Returns the current thread's value; null at first.
#[inline]
pub(crate) fn value(key: Key) -> *mut c_void {
    // SAFETY: a key of `new`, or a number that is none, for which there is no value.
    unsafe { TlsGetValue(key) }
}

/// Sets the current thread's value. Without memory for it, the value stays as it was.
#[inline]
pub(crate) fn set(key: Key, value: *const c_void) {
    // SAFETY: a key of `new`, or a number that is none, which is refused. Out of memory is an answer.
    unsafe { TlsSetValue(key, value) };
}
