//! The frames of a sample, as AsyncGetCallTrace and the agent's own walk write them.

use super::samples::SampledFrame;
use crate::env::{FrameInfo, MethodId};
use crate::hotspot::stack_walk::ClassMethod;
use crate::sys;

/// `ASGCT_CallFrame`, and in what that leaves unused: `number`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::hotspot) struct CallFrame {
    /// The bytecode index, negative in a native method.
    location: sys::jint,
    /// One more than the number of the method in its class; 0 in a frame that AsyncGetCallTrace has written.
    number: u32,
    /// The VM's id of the method, or, if there is a number, the address of its class in the VM's memory.
    method: sys::jmethodID,
}

// AsyncGetCallTrace writes frames of its own type.
const _: () = assert!(
    size_of::<CallFrame>() == 2 * size_of::<usize>()
        && std::mem::offset_of!(CallFrame, method) == size_of::<usize>()
);

/// Stands for the bytecode index in frames of native code: methods of Java have none as low.
const IN_NATIVE_CODE: sys::jint = sys::jint::MIN;
/// As above, in a frame that stands for those that are not on the stack.
const IN_HEAP: sys::jint = sys::jint::MIN + 1;

/// As above, in a frame that stands for those that were not walked.
const CUT: sys::jint = sys::jint::MIN + 2;

impl CallFrame {
    /// Creates a frame of a method. For the handler.
    #[inline(always)]
    pub(in crate::hotspot) fn new(location: sys::jint, method: ClassMethod) -> Self {
        Self {
            location,
            number: (method.number as u32).wrapping_add(1),
            method: std::ptr::with_exposed_provenance_mut(method.class),
        }
    }

    #[cfg(unix)]
    /// Creates a frame of native code, at the address of an instruction. For the handler.
    #[inline(always)]
    pub(in crate::hotspot) fn native(instruction: usize) -> Self {
        Self {
            location: IN_NATIVE_CODE,
            number: 0,
            method: std::ptr::with_exposed_provenance_mut(instruction),
        }
    }

    /// Creates the frame that stands for those of a virtual thread that the VM has not brought back from the heap. For the
    /// handler.
    #[inline(always)]
    pub(in crate::hotspot) fn in_heap() -> Self {
        Self {
            location: IN_HEAP,
            number: 0,
            method: std::ptr::null_mut(),
        }
    }

    /// Creates the frame that stands for those that were not walked, because it took too long. For the handler.
    #[inline(always)]
    pub(in crate::hotspot) fn cut() -> Self {
        Self {
            location: CUT,
            ..Self::in_heap()
        }
    }

    #[cfg(unix)]
    /// Returns `true` if the frame is of a method of the class at this address. For the handler.
    #[inline(always)]
    pub(super) fn is_of_class(&self, class: usize) -> bool {
        self.number != 0 && self.method.addr() == class
    }

    /// Returns what the frame is of.
    pub(super) fn sampled(self) -> SampledFrame {
        if self.location == IN_NATIVE_CODE {
            return SampledFrame::Native(self.method.expose_provenance());
        }
        if self.location == IN_HEAP {
            return SampledFrame::InHeap;
        }
        if self.location == CUT {
            return SampledFrame::Cut;
        }
        let location = i64::from(self.location.max(-1));
        match self.number.checked_sub(1) {
            // Numbers have 16 bits.
            Some(number) => SampledFrame::Java {
                method: ClassMethod {
                    class: self.method.expose_provenance(),
                    number: number as u16,
                },
                location,
            },
            None => SampledFrame::Known(FrameInfo {
                method: MethodId::from_raw(self.method),
                location,
            }),
        }
    }
}
