//! Classes of the boot loader, found without running Java code.
//!
//! On a thread without Java frames JNI's `FindClass` asks the program's system loader, which is Java code and may be the program's
//! own, and it initializes the class that it finds. Threads of the program that need the same classes then wait for the agent.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use super::jni::{Jni, LocalRef, jni};
use super::os::Library;
use super::sys;
use super::vm_call::before_call;

/// The function by which `java.lang.ClassLoader` asks the boot loader (`jvm.h`). It loads the class if necessary, does not
/// initialize it, and returns null if there is none.
const FUNCTION: &CStr = c"JVM_FindClassFromBootLoader";

type FindClass = unsafe extern "system" fn(*mut sys::JNIEnv, *const c_char) -> sys::jclass;

impl<'a> Jni<'a> {
    /// Returns a class of the boot loader, which may not be initialized; `None` if there is none of that name. Must not be called
    /// with an exception pending.
    pub(super) fn find_class(self, name: &CStr) -> Option<LocalRef<'a>> {
        static FIND_CLASS: OnceLock<Option<FindClass>> = OnceLock::new();
        let raw = match FIND_CLASS.get_or_init(|| self.boot_loader()) {
            // SAFETY: the environment is the current thread's, and the name is NUL-terminated.
            Some(find_class) => unsafe {
                before_call("FindClassFromBootLoader");
                find_class(self.as_raw(), name.as_ptr())
            },
            // SAFETY: the name is NUL-terminated.
            None => unsafe { jni!(self, FindClass, name.as_ptr()) },
        };
        if self.clear_exception() {
            return None;
        }
        LocalRef::new(self, raw)
    }

    /// Finds the function in the library that JNI's functions are in.
    fn boot_loader(self) -> Option<FindClass> {
        // SAFETY: the table is complete.
        let function = unsafe { (**self.as_raw()).v1_6.FindClass };
        let symbol = Library::of(function as *const _)?.symbol(FUNCTION);
        if symbol.is_null() {
            return None;
        }
        // SAFETY: the VM's library, which is never unloaded, exports under this name a function of this type in every release since
        // JDK 7.
        Some(unsafe { std::mem::transmute::<*const std::ffi::c_void, FindClass>(symbol) })
    }
}
