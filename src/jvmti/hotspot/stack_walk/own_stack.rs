//! The stack of the current thread.

use std::arch::asm;

use super::super::vm_structs::read;
use super::layout::WORD;

/// The part of the current thread's stack that is in use.
#[derive(Clone, Copy)]
pub(super) struct OwnStack {
    low: usize,
    base: usize,
}

impl OwnStack {
    /// What is in use of the stack that begins at `base` and has `size` bytes; `None` where the current thread runs on another one.
    /// What the caller has called stays above the lower end until the caller returns.
    #[inline(always)]
    pub(super) fn find(base: usize, size: usize) -> Option<Self> {
        let low = stack_pointer();
        let is_within = low < base && base - low <= size && base.is_multiple_of(WORD);
        is_within.then_some(Self { low, base })
    }

    /// The part from a frame on to the stack's beginning.
    #[inline]
    pub(super) fn from(self, sp: usize) -> Self {
        Self {
            low: self.low.max(sp),
            ..self
        }
    }

    /// Where the stack begins.
    #[inline]
    pub(super) fn base(self) -> usize {
        self.base
    }

    /// The word at an address, if it is one of the stack.
    #[inline]
    pub(super) fn word(self, address: usize) -> Option<usize> {
        let is_within = address >= self.low && address < self.base && address.is_multiple_of(WORD);
        // SAFETY: what lies between the stack pointer of a function that ran on this stack and the stack's beginning is mapped: it
        // holds the frames of its callers. The base is a multiple of a word, so the last word ends there.
        is_within.then(|| unsafe { read(address) })
    }

    /// Whether an address can be that of a frame.
    #[inline]
    pub(super) fn has(self, address: usize) -> bool {
        address >= self.low && address <= self.base
    }
}

/// Where the current function's frame is.
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: copies a register, and changes nothing.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}
