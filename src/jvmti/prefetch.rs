//! Memory that is going to be read: the CPU fetches it while other things are done.

use std::arch::asm;

/// Has the CPU fetch a value's first cache line. Changes nothing but how long the next look takes.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_address(std::ptr::from_ref(value).addr());
}

/// As [`prefetch`]; any address may be given, for none is read.
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
