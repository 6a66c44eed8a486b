//! What is checked before the VM is called.

/// The functions of JVMTI and JNI for which HotSpot leaves the thread in native state, so that it is not suspended there:
/// `GetThreadLocalStorage` only for the current thread.
const STAY_IN_NATIVE: [&str; 6] = [
    "Allocate",
    "Deallocate",
    "GetPhase",
    "GetThreadLocalStorage",
    "GetVersion",
    "GetJavaVM",
];

/// Checks, in a debug build, that the thread holds no lock for which others would wait while it is suspended in the call.
#[inline]
pub(super) fn before_call(function: &'static str) {
    if cfg!(debug_assertions) && !STAY_IN_NATIVE.contains(&function) {
        locks::check_vm_call(function);
    }
}
