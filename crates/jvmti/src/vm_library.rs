//! The VM's library, and what it exports.

use std::ffi::CStr;

use super::jni::Vm;
use super::os::Library;

/// The VM's library, which is already loaded.
pub(super) struct VmLibrary(Library);

impl VmLibrary {
    /// Returns the library that the VM's functions belong to.
    pub(super) fn of(vm: Vm) -> Option<Self> {
        Library::of(vm.function_address()).map(Self)
    }

    /// Returns the address of a symbol; `None` if the library has none of that name.
    pub(super) fn symbol<T>(&self, name: &CStr) -> Option<*const T> {
        let symbol = self.0.symbol(name);
        (!symbol.is_null()).then_some(symbol.cast())
    }
}
