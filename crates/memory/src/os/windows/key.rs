//! Keys of values that each thread has one of.

use std::ffi::c_void;

use windows_sys::Win32::System::Threading::{
    FLS_OUT_OF_INDEXES, FlsAlloc, FlsGetValue, FlsSetValue,
};

/// A key, which is never released. The values of fibers have what those of threads lack: a destructor. A VM's threads are no
/// fibers, so each has one value.
#[derive(Clone, Copy)]
pub(crate) struct Key(u32);

impl Key {
    /// Creates a key. `drop_value` gets each thread's value at the end of the thread, unless that is null. `None` if the
    /// system has no key left.
    pub(crate) fn new(drop_value: unsafe extern "C" fn(*mut c_void)) -> Option<Self> {
        // SAFETY: on 64 bits there is one way of calling functions; only the type differs.
        let drop_value = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*mut c_void),
                unsafe extern "system" fn(*const c_void),
            >(drop_value)
        };
        // SAFETY: the function is part of this library, which is never unloaded.
        let key = unsafe { FlsAlloc(Some(drop_value)) };
        (key != FLS_OUT_OF_INDEXES).then_some(Self(key))
    }

    /// Returns the current thread's value; null at first.
    #[inline]
    pub(crate) fn get(self) -> *mut c_void {
        // SAFETY: the key exists for good.
        unsafe { FlsGetValue(self.0) }
    }

    /// Sets the current thread's value; returns `false` if the system has no memory for it.
    pub(crate) fn set(self, value: *mut c_void) -> bool {
        // SAFETY: the key exists for good; who made it has promised that its destructor takes the values that are set.
        unsafe { FlsSetValue(self.0, value) != 0 }
    }
}
