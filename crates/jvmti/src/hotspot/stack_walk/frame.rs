//! The position of a frame, and the values that a walk reads on its way.

use super::super::code_heap::{BlockStart, CodeBlob};
use super::compiled::PlaceKind;

/// The position of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) sp: usize,
    /// The frame pointer, if the frame is found by it; otherwise 0.
    pub(super) fp: usize,
    pub(super) pc: usize,
}

/// Code that a frame returns to.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) blob: CodeBlob,
    pub(super) start: BlockStart,
    pub(super) identity: u32,
    pub(super) kind: PlaceKind,
}

/// A method in a frame of the interpreter, and its id.
#[derive(Clone, Copy)]
pub(super) struct NumberedMethod {
    pub(super) method: usize,
    pub(super) id: usize,
}

/// Receives everything that a walk depends on, from a frame to the next one.
pub(super) trait Record {
    /// Called with a word of the stack, or the one that a `jmethodID` points to.
    fn read(&mut self, address: usize, value: usize);
    /// Called with a method of the interpreter's and its id, if that is a number, after the words that show that the frame
    /// is there.
    fn interprets(&mut self, method: NumberedMethod);
    /// Called with the code that the frame returns to.
    fn runs(&mut self, code: Code);
}

/// Records nothing.
pub(super) struct NoRecord;

impl Record for NoRecord {
    #[inline(always)]
    fn read(&mut self, _: usize, _: usize) {}

    #[inline(always)]
    fn interprets(&mut self, _: NumberedMethod) {}

    #[inline(always)]
    fn runs(&mut self, _: Code) {}
}
