//! What a walk has found, as a stack of a sample.

use super::samples::{NoStack, SampledStack};
use super::trace::CallFrame;
use crate::hotspot::stack_walk::refused;

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
