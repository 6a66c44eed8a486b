//! The types and errors of HotSpot's AsyncGetCallTrace, which are in no header of the JDK.

use crate::jvmti::env::{FrameInfo, MethodId};
use crate::jvmti::sys;

/// `ASGCT_CallFrame`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::jvmti::hotspot) struct CallFrame {
    /// The bytecode index, negative in a native method.
    location: sys::jint,
    method: sys::jmethodID,
}

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
/// Stands for the bytecode index in frames of native code: methods of Java have none as low.
const IN_NATIVE_CODE: sys::jint = sys::jint::MIN;

impl CallFrame {
    /// Creates a frame of the method with this id, 0 for none. For the handler.
    #[inline(always)]
    pub(in crate::jvmti::hotspot) fn new(location: sys::jint, method: usize) -> Self {
        Self {
            location,
            method: std::ptr::with_exposed_provenance_mut(method),
        }
    }

    /// Creates a frame of native code, at the address of an instruction. For the handler.
    #[inline(always)]
    pub(in crate::jvmti::hotspot) fn native(instruction: usize) -> Self {
        Self::new(IN_NATIVE_CODE, instruction)
    }

    /// Returns the address of the instruction in native code, if the frame is one of that.
    pub(super) fn native_address(self) -> Option<usize> {
        (self.location == IN_NATIVE_CODE).then(|| self.method.expose_provenance())
    }

    pub(super) fn jvmti(self) -> FrameInfo {
        FrameInfo {
            method: MethodId::from_raw(self.method),
            location: i64::from(self.location.max(-1)),
        }
    }
}
