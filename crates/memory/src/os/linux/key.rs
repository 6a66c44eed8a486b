//! Keys of values that each thread has one of.

use std::ffi::c_void;

/// A key, which is never released.
#[derive(Clone, Copy)]
pub(crate) struct Key(libc::pthread_key_t);

impl Key {
    /// Creates a key. `drop_value` gets each thread's value at the end of the thread, unless that is null. `None` if the
    /// system has no key left.
    pub(crate) fn new(drop_value: unsafe extern "C" fn(*mut c_void)) -> Option<Self> {
        let mut key = 0;
        // SAFETY: the key goes to a variable of this function, and the function is part of this library, which is never
        // unloaded.
        let refused = unsafe { libc::pthread_key_create(&mut key, Some(drop_value)) };
        (refused == 0).then_some(Self(key))
    }

    /// Returns the current thread's value; null at first.
    #[inline]
    pub(crate) fn get(self) -> *mut c_void {
        // SAFETY: the key exists for good.
        unsafe { libc::pthread_getspecific(self.0) }
    }

    /// Sets the current thread's value; returns `false` if the system has no memory for it.
    pub(crate) fn set(self, value: *mut c_void) -> bool {
        // SAFETY: the key exists for good; who made it has promised that its destructor takes the values that are set.
        unsafe { libc::pthread_setspecific(self.0, value) == 0 }
    }
}
