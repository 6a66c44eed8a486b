//! What a sample consists of, and why there may be none.

use std::fmt;

use crate::env::FrameInfo;
use crate::hotspot::stack_walk::ClassMethod;
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
