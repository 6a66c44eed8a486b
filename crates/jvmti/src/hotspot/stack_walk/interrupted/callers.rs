//! The code that has called a stub, by the call before a return address.
//!
//! One piece of code has many stubs, and some make room for themselves on the stack, where return addresses may be left of calls
//! of other stubs. So a return address counts only if the call before it is one of the stub that is running.

use super::super::super::code_heap::CodeBlob;
use super::super::layout::WORD;
use super::machine::{InterruptedCode, LONGEST_CALL};
use super::walk::Walk;

/// The most words that a stub without a frame saves, its return address included: all registers of a processor, with
/// those for floating point, are about as many.
pub(super) const SAVED_REGISTERS: usize = 80;

impl Walk<'_> {
    /// Returns the entry of the stub that is running at `pc`, as far as words on the stack tell: of the targets of the calls
    /// that they lead back to, the last one before `pc`.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) fn nearest_entry(&self, blob: CodeBlob, pc: usize, sp: usize) -> Option<usize> {
        let mut nearest = None;
        let mut at = sp;
        for _ in 0..SAVED_REGISTERS {
            if let Some(word) = self.stack.return_address(at)
                && let Some(target) = self.target_in(word, blob)
                && target <= pc
                && nearest.is_none_or(|nearest| target > nearest)
            {
                nearest = Some(target);
            }
            at = at.wrapping_add(WORD);
        }
        nearest
    }

    /// Returns `true` if the call before a return address is surely one of `blob`.
    #[inline(always)]
    pub(super) fn has_called(&self, pc: usize, blob: CodeBlob) -> bool {
        self.target_in(pc, blob).is_some()
    }

    /// Returns `false` if the call before a return address is surely not one of the stub with that entry.
    #[inline(always)]
    pub(super) fn may_have_called(&self, pc: usize, entry: Option<usize>) -> bool {
        let is_code = |address| self.walker.walker.code.blob(address).is_some();
        if !is_code(pc.wrapping_sub(LONGEST_CALL)) {
            return false;
        }
        match self.target_of_call(pc) {
            Some(target) => entry == Some(target),
            None => true,
        }
    }

    /// Returns the target of the call before a return address, if the instructions have it.
    #[inline(always)]
    pub(super) fn target_of_call(&self, pc: usize) -> Option<usize> {
        let code = &self.walker.walker.code;
        let begin = pc.wrapping_sub(LONGEST_CALL);
        if code.blob(pc).is_none() || code.blob(begin).is_none() {
            return None;
        }
        InterruptedCode { begin, end: pc }.called(pc)
    }

    /// Returns the target of the call before a return address, if it is surely in `blob`.
    #[inline(always)]
    fn target_in(&self, pc: usize, blob: CodeBlob) -> Option<usize> {
        let target = self.target_of_call(pc)?;
        if self.walker.walker.code.blob(target) == Some(blob) {
            Some(target)
        } else {
            None
        }
    }
}
