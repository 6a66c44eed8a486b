//! The stack of the current thread, as far as it was in use when a signal interrupted it.

use super::super::own_stack::{OwnStack, unsigned};
use super::WORD;
use crate::stack_bounds::StackBounds;

impl OwnStack {
    /// Returns the part that was in use when a signal interrupted the current thread at this stack pointer; `None` if it
    /// is not on the thread's stack.
    #[inline(always)]
    pub(super) fn interrupted(sp: usize, stack: StackBounds) -> Option<Self> {
        let base = stack.end;
        if !stack.contains(sp) || !base.is_multiple_of(WORD) {
            return None;
        }
        Some(Self { low: sp, base })
    }

    /// Returns the return address at an address, if that is on the stack.
    #[inline(always)]
    pub(super) fn return_address(self, at: usize) -> Option<usize> {
        self.word(at).map(unsigned)
    }

    /// Returns the word below an address, if that is on the stack, or has just been taken from it: a handler leaves the
    /// words right below the stack pointer as they are.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn word_below(self, address: usize) -> Option<usize> {
        const PAGE: usize = 4096;
        let at = address.checked_sub(WORD)?;
        if at >= self.low {
            return self.word(at);
        }
        if address != self.low || !address.is_multiple_of(WORD) || address.is_multiple_of(PAGE) {
            return None;
        }
        // SAFETY: it is in the same page as the word at the stack pointer, which is mapped.
        Some(unsafe { super::read(at) })
    }
}
