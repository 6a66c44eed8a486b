//! The types and errors of HotSpot's AsyncGetCallTrace, which are in no header of the JDK.

use super::samples::CallFrame;
use crate::sys;

/// `ASGCT_CallTrace`.
#[repr(C)]
pub(super) struct CallTrace {
    /// The current thread's environment.
    pub(super) env: *mut sys::JNIEnv,
    /// The number of frames, or the reason why there are none.
    pub(super) count: sys::jint,
    /// The memory for the frames.
    pub(super) frames: *mut CallFrame,
}

/// The function.
pub(super) type AsyncGetCallTrace =
    unsafe extern "C" fn(*mut CallTrace, sys::jint, *mut std::ffi::c_void);

/// The thread is in the VM or in native code, and its last Java frame was not found (`ticks_unknown_not_Java`).
pub(super) const UNKNOWN_NOT_JAVA: i32 = -3;
/// As above, but the frame was found and cannot be walked from (`ticks_not_walkable_not_Java`).
pub(super) const NOT_WALKABLE_NOT_JAVA: i32 = -4;
