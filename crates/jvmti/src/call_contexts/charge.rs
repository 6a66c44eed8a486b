//! What the handler of CPU samples does with the contexts.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{ContextCell, Slot};

/// Charges samples to the innermost context of the current thread; returns `false` if it has none. For the handler.
///
/// # Safety
/// `slot` is the value of [`key`](super::key).
#[inline(always)]
pub(crate) unsafe fn charge(slot: *mut std::ffi::c_void, samples: u64) -> bool {
    // SAFETY: null, or a slot that its owner, this thread, withdraws before it is freed.
    let Some(slot) = (unsafe { slot.cast::<Slot>().as_ref() }) else {
        return false;
    };
    let stack = slot.stack.load(Ordering::Relaxed);
    let depth = slot.position.load(Ordering::Relaxed) as u32 as usize;
    let entry = stack.wrapping_add(depth.wrapping_mul(size_of::<u64>()));
    // SAFETY: the stack has room for the position, and has the addresses of cells up to there, as this thread sees them.
    let cell = unsafe {
        let address = ptr::with_exposed_provenance::<AtomicPtr<ContextCell>>(entry);
        (*address).load(Ordering::Relaxed).as_ref()
    };
    let Some(cell) = cell else {
        return false;
    };
    let before = cell.own.load(Ordering::Relaxed);
    cell.own
        .store(before.wrapping_add(samples), Ordering::Relaxed);
    true
}
