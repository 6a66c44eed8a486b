//! Where a frame stands, and what a walk reads on its way.

use super::super::code_heap::{BlockStart, CodeBlob};

/// Where a frame is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) sp: usize,
    /// The frame pointer, where the frame is one that is found by it; otherwise 0.
    pub(super) fp: usize,
    pub(super) pc: usize,
}

/// Code that a frame returns to.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) blob: CodeBlob,
    pub(super) start: BlockStart,
    pub(super) identity: u32,
    /// Where the identity of the code is read.
    pub(super) identity_at: usize,
}

/// Is told what a walk depends on, from a frame to the next one.
pub(super) trait Record {
    /// A word of the stack, or the one behind a `jmethodID`.
    fn read(&mut self, address: usize, value: usize);
    /// The code that the frame returns to.
    fn runs(&mut self, code: Code);
}

/// Remembers nothing.
pub(super) struct NoRecord;

impl Record for NoRecord {
    #[inline]
    fn read(&mut self, _: usize, _: usize) {}

    #[inline]
    fn runs(&mut self, _: Code) {}
}
