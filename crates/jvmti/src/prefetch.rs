//! Prefetching: the CPU fetches memory that is about to be read while it does something else.

use std::arch::asm;

/// Makes the CPU fetch a value's first cache line. Only affects the time of the next read.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_address(std::ptr::from_ref(value).addr());
}

/// As [`prefetch`]; any address may be given, because none is read.
#[inline(always)]
pub(super) fn prefetch_address(address: usize) {
    // SAFETY: a hint to the CPU, which raises no fault whatever the address is, and changes no register and no memory.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "aarch64")]
        asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}
