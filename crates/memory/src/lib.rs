//! The agent's own memory: how much it holds, and what happens when the system gives no more.
//!
//! Rust ends the process when an allocation fails, and the process is somebody else's, so no allocation may fail. The
//! first one that the system refuses is served from a reserve. From then on memory [`is_out`]: no event is admitted,
//! and the session ends. Events that are still running need little, which the reserve covers. Large amounts must be
//! checked in advance, so that the work is given up instead of draining the reserve: the collections [`List`], [`Map`],
//! [`Set`] and [`Table`] do that themselves, everything else needs [`need`] or [`claim`].
//!
//! Whoever links this crate has its allocator, as `#[global_allocator]`.

#![warn(unreachable_pub)]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]
#![allow(unsafe_code)]

mod allocator;
mod collections;
mod labelled_words;
mod large_blocks;
mod malloc_use;
mod mapped;
mod os;
mod per_thread;
mod reserve;
mod set_aside;
mod sorting;

pub use allocator::{
    ends_session, is_out, lend_reserve, own_mappings, own_memory, prepare, put_reserve_away,
    restore_reserve, set_more_aside, system_has,
};

pub use collections::{List, Map, OrStop, Set, Table, claim_to_grow};
pub use labelled_words::{LabelledWord, LabelledWords};
pub use malloc_use::{MallocUse, malloc_use};
pub use mapped::{Discardable, Mapped};
pub use os::{SystemThread, return_free_memory};
pub use per_thread::PerThread;
pub use sorting::sort_by_numbers;

/// The system has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives the agent no memory")]
pub struct OutOfMemory;

/// The size in bytes from which an allocation must be checked in advance; the reserve covers smaller ones.
const LARGE: usize = 64 * 1024;

/// Checks that the system has this much memory. It is freed at once and may go to someone else, so call this right
/// before something grows.
#[inline]
pub fn claim(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < LARGE || allocator::system_has(bytes) || allocator::end_has(bytes) {
        return Ok(());
    }
    Err(OutOfMemory)
}

/// As [`claim`], for work that cannot continue without the memory: marks memory as out and unwinds like a panic, up to
/// the place that catches these. Must not be called where unwinding would leave a VM callback.
#[inline]
pub fn need(bytes: usize) {
    if claim(bytes).is_err() {
        give_up();
    }
}

/// Unwinds if memory is out: for work that allocates a little again and again. As [`need`].
#[inline]
pub fn stop_if_out() {
    if is_out() {
        give_up();
    }
}

#[cold]
fn give_up() {
    // A thread that is already unwinding and cleaning up must not unwind again.
    if !std::thread::panicking() {
        stop();
    }
    allocator::system_refused();
}

#[cold]
fn stop() -> ! {
    allocator::system_refused();
    // Not a panic, which would be reported as a fault of the agent.
    std::panic::resume_unwind(Box::new(OutOfMemory))
}
