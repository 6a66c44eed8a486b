//! Libraries that are loaded.

use std::ffi::{CStr, c_void};

/// A library, which stays loaded meanwhile.
pub(crate) struct Library(*mut c_void);

impl Library {
    /// Returns the library that has this address.
    pub(crate) fn of(address: *const c_void) -> Option<Self> {
        // SAFETY: `dladdr` fills the structure or answers 0; RTLD_NOLOAD loads nothing.
        let handle = unsafe {
            let mut info = std::mem::zeroed::<libc::Dl_info>();
            if libc::dladdr(address, &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Returns the address of a symbol; null if the library has none of that name.
    pub(crate) fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: the handle is open and the name NUL-terminated.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by `of`.
        unsafe { libc::dlclose(self.0) };
    }
}

/// Returns where the library that has this address begins.
pub(crate) fn base_of(address: *const c_void) -> Option<usize> {
    // SAFETY: `dladdr` fills the structure or answers 0.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        (libc::dladdr(address, &mut info) != 0).then_some(info.dli_fbase.addr())
    }
}
