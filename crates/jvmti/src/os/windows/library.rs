//! Libraries that are loaded.

use std::ffi::{CStr, c_void};
use std::ptr;

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
    GetModuleHandleExW, GetProcAddress,
};

/// A library, which is not unloaded: it is that of the VM.
pub(crate) struct Library(HMODULE);

impl Library {
    /// Returns the library that has this address.
    pub(crate) fn of(address: *const c_void) -> Option<Self> {
        let how =
            GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
        let mut found = ptr::null_mut();
        // SAFETY: with this flag the name is any address; the handle goes to a variable of this function.
        let succeeded = unsafe { GetModuleHandleExW(how, address.cast(), &mut found) };
        (succeeded != 0 && !found.is_null()).then_some(Self(found))
    }

    /// Returns the address of a symbol; null if the library has none of that name.
    pub(crate) fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: the library is loaded and the name NUL-terminated.
        let found = unsafe { GetProcAddress(self.0, name.as_ptr().cast()) };
        found.map_or(ptr::null(), |found| found as *const c_void)
    }
}

/// Returns where the library that has this address begins.
pub(crate) fn base_of(address: *const c_void) -> Option<usize> {
    Library::of(address).map(|library| library.0.addr())
}
