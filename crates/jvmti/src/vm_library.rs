//! The VM's library, and what it exports.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::jni::Vm;

/// The VM's library, which is already loaded.
pub(super) struct VmLibrary(*mut c_void);

impl VmLibrary {
    /// Returns the library that the VM's functions belong to.
    pub(super) fn of(vm: Vm) -> Option<Self> {
        // SAFETY: `dladdr` fills the structure or answers 0; RTLD_NOLOAD loads nothing.
        let handle = unsafe {
            let mut info = std::mem::zeroed::<libc::Dl_info>();
            if libc::dladdr(vm.function_address(), &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Returns the address of a symbol; `None` if the library has none of that name.
    pub(super) fn symbol<T>(&self, name: &CStr) -> Option<*const T> {
        // SAFETY: the handle is open and the name NUL-terminated.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!ptr::eq(symbol, ptr::null())).then_some(symbol.cast::<T>().cast_const())
    }
}

impl Drop for VmLibrary {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by `of`; the VM's own keeps the library loaded.
        unsafe { libc::dlclose(self.0) };
    }
}
