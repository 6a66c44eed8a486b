//! What a sample consists of, as the handler writes it and as it is read, and why there may be none.

use std::fmt;

use crate::env::{FrameInfo, MethodId};
use crate::hotspot::stack_walk::ClassMethod;
use crate::sys;
use memory::OutOfMemory;

/// The reason why such samples are not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCpuTimers {
    /// The VM or the system lacks something.
    #[error("{0}")]
    Vm(&'static str),
    /// The system refused.
    #[error("the system refuses a timer on a thread's CPU clock: {0}")]
    Timer(String),
    /// Further timers would leave too little to the user's other programs.
    #[error("more than three quarters of the user's pending signals (`ulimit -i`) are in use")]
    PendingSignals,
    /// The program uses the signal itself.
    #[error("the program has taken over SIGVTALRM, the signal of the timers")]
    Signal,
    /// There is no memory for the samples that wait to be fetched.
    #[error("{0} for samples")]
    Memory(OutOfMemory),
    /// Samples are being taken already.
    #[error("an earlier session has not ended")]
    InUse,
}

/// A sample.
pub struct StackSample {
    /// The serial number of the thread.
    pub thread: u32,
    /// The number of samples begun before.
    pub number: u64,
    /// `true` if it is a thread of the VM's own; `thread` is then what [`CpuTimers::add_vm_thread`] was given.
    pub is_vm_thread: bool,
    /// The serial number of the virtual thread that it ran, 0 if there was none.
    pub virtual_thread: u32,
    /// The number of intervals it stands for.
    pub weight: u32,
    /// `true` if the thread was in the agent's own code.
    pub in_agent: bool,
    /// The stack, as far as it could be seen.
    pub stack: SampledStack,
}

/// The stack of a sample.
pub enum SampledStack {
    /// The frames, innermost first.
    Frames(Vec<SampledFrame>),
    /// The thread ran no Java.
    NoJava,
    /// The stack could not be walked.
    Unwalkable(NoStack),
}

/// A frame of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledFrame {
    /// A method of Java, whose class may be gone by now ([`FrameClasses`](super::FrameClasses)), and the bytecode index, -1
    /// in a native method.
    Java {
        /// The method.
        method: ClassMethod,
        /// The index.
        location: i64,
    },
    /// A method of Java by the VM's id, as AsyncGetCallTrace gives it.
    Known(FrameInfo),
    /// Native code, at the address of an instruction.
    Native(usize),
    /// Frames of a virtual thread that the VM has not brought back from the heap.
    InHeap,
    /// Frames that were not walked, because it took too long.
    Cut,
}

/// The reason why a stack could not be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStack {
    /// The thread ran on another stack than the VM knows.
    OtherStack,
    /// It was between two frames of the interpreter, or on the way into or out of one.
    Interpreter,
    /// It was where a compiled method makes its frame or gives it up.
    Method,
    /// It was in a stub.
    Stub,
    /// It was in code of the VM's for exceptions, or for frames that are discarded.
    Discarding,
    /// A frame further out has no known shape.
    Frame,
    /// The frames of a virtual thread were only in part on the stack.
    Continuation,
    /// It was in C code that leaves no frame pointers.
    NativeCode,
    /// AsyncGetCallTrace refused.
    AsyncGetCallTrace,
}

impl NoStack {
    /// All reasons, in the order in which they are declared.
    pub const ALL: [Self; 9] = [
        Self::OtherStack,
        Self::Interpreter,
        Self::Method,
        Self::Stub,
        Self::Discarding,
        Self::Frame,
        Self::Continuation,
        Self::NativeCode,
        Self::AsyncGetCallTrace,
    ];
}

impl fmt::Display for NoStack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::OtherStack => "on a stack of its own",
            Self::Interpreter => "between frames of the interpreter",
            Self::Method => "where a frame is made or given up",
            Self::Stub => "in a stub",
            Self::Discarding => "where frames are discarded",
            Self::Frame => "above an unknown frame",
            Self::Continuation => "in a continuation",
            Self::NativeCode => "in C code without frame pointers",
            Self::AsyncGetCallTrace => "refused by AsyncGetCallTrace",
        })
    }
}

/// The reasons why a stack is refused, as negative numbers where the number of frames is expected; those of
/// AsyncGetCallTrace end at -10.
pub(crate) mod refused {
    /// The stack pointer is on no stack that the VM knows the thread by.
    pub(crate) const OTHER_STACK: i32 = -21;
    /// The thread is in the interpreter, but not in a frame of it, and neither at the entry of a method.
    pub(crate) const INTERPRETER: i32 = -22;
    /// A frame further out is of such code.
    pub(crate) const FRAME: i32 = -23;
    /// The frames of a virtual thread are only in part on the stack.
    pub(crate) const CONTINUATION: i32 = -24;
    /// The thread is in C code that leaves no frame pointers.
    pub(crate) const NATIVE_CODE: i32 = -25;
    /// The thread is where a compiled method makes its frame or gives it up.
    pub(crate) const METHOD: i32 = -26;
    /// The thread is in a stub.
    pub(crate) const STUB: i32 = -27;
    /// The thread is in code for exceptions, or for frames that are discarded.
    pub(crate) const DISCARDING: i32 = -28;
}

impl SampledStack {
    /// Returns the stack that a walk found; `count` is the number of frames, or the reason why there are none.
    pub(in crate::hotspot) fn of(count: i32, frames: &[CallFrame]) -> Self {
        match count {
            1.. => Self::Frames(frames.iter().map(|frame| frame.sampled()).collect()),
            0 => Self::NoJava,
            reason => Self::Unwalkable(no_stack(reason)),
        }
    }
}

fn no_stack(reason: i32) -> NoStack {
    match reason {
        refused::OTHER_STACK => NoStack::OtherStack,
        refused::INTERPRETER => NoStack::Interpreter,
        refused::METHOD => NoStack::Method,
        refused::STUB => NoStack::Stub,
        refused::DISCARDING => NoStack::Discarding,
        refused::FRAME => NoStack::Frame,
        refused::CONTINUATION => NoStack::Continuation,
        refused::NATIVE_CODE => NoStack::NativeCode,
        _ => NoStack::AsyncGetCallTrace,
    }
}

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
    fn sampled(self) -> SampledFrame {
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
