//! The stack of the current thread.

use std::arch::asm;

use super::layout::WORD;
use crate::vm_kind::vm_structs::read;

/// The part of the current thread's stack that is in use.
#[derive(Clone, Copy)]
pub(super) struct OwnStack {
    pub(super) low: usize,
    pub(super) base: usize,
}

impl OwnStack {
    /// Finds the used part of the stack that begins at `base` and has `size` bytes; `None` if the current thread runs
    /// on another one. Functions that the caller has called stay above the lower end until the caller returns.
    #[inline(always)]
    pub(super) fn find(base: usize, size: usize) -> Option<Self> {
        let low = stack_pointer();
        let is_within = low < base && base - low <= size && base.is_multiple_of(WORD);
        is_within.then_some(Self { low, base })
    }

    /// Returns the part from a frame on to the stack's base.
    #[inline(always)]
    pub(super) fn from(self, sp: usize) -> Self {
        Self {
            low: self.low.max(sp),
            ..self
        }
    }

    /// Returns the base of the stack.
    #[inline]
    pub(super) fn base(self) -> usize {
        self.base
    }

    /// Returns the word at an address, if it is on the stack.
    #[inline(always)]
    pub(super) fn word(self, address: usize) -> Option<usize> {
        let is_within = address >= self.low && address < self.base && address.is_multiple_of(WORD);
        if !is_within {
            return None;
        }
        // SAFETY: the memory between the stack pointer of a function that ran on this stack and the stack's base is
        // mapped: it holds the frames of its callers. The base is a multiple of a word, so the last word ends there.
        Some(unsafe { read(address) })
    }

    /// Returns `true` if an address can be that of a frame.
    #[inline(always)]
    pub(super) fn has(self, address: usize) -> bool {
        address >= self.low && address <= self.base
    }
}

/// Returns a return address without its signature: where branches are protected, processors for aarch64 sign it before it is
/// saved.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn unsigned(mut address: usize) -> usize {
    // SAFETY: it changes the upper bits of the register, or nothing on processors that do not sign (`xpaclri`).
    unsafe {
        asm!("hint #7", inout("x30") address, options(nomem, nostack, preserves_flags));
    }
    address
}

/// Returns a return address: nothing signs them here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn unsigned(address: usize) -> usize {
    address
}

/// Returns the address of the current function's frame.
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
