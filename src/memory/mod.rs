//! The agent's own memory: how much it holds, and what happens when the system gives no more.
//!
//! Rust ends the process when an allocation fails, and the process is somebody else's. So none fails here. The first that the
//! system refuses comes from a reserve, and from then on memory [`is_out`]: no event is let in any more, and the session ends.
//! What is still inside has small needs, which the reserve bears. Whatever may be large is asked for in advance, by [`need`] or
//! [`claim`], so that it is given up instead of taken from there.

#![allow(unsafe_code)]

mod allocator;
mod per_thread;
mod reserve;
mod system_thread;

pub use allocator::{
    ends_session, is_out, own_memory, prepare, put_reserve_away, return_free_memory, system_has,
};

pub use per_thread::PerThread;
pub use system_thread::SystemThread;

/// The system has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives the agent no memory")]
pub struct OutOfMemory;

/// What is smaller than this the reserve bears.
const LARGE: usize = 64 * 1024;

/// Whether the system has so much memory. It is given back at once: whoever gets it first has it, so this comes right before
/// something grows.
#[inline]
pub fn claim(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < LARGE || allocator::system_has(bytes) || allocator::end_has(bytes) {
        return Ok(());
    }
    Err(OutOfMemory)
}

/// As [`claim`], where there is nothing to be done without the memory: memory is out, and what goes on here ends as by a panic,
/// at the place that catches these. Not for what a VM's callback could not be unwound from.
#[inline]
pub fn need(bytes: usize) {
    if claim(bytes).is_err() {
        give_up();
    }
}

/// Goes no further where memory is out: for what takes a little again and again. As [`need`].
#[inline]
pub fn stop_if_out() {
    if is_out() {
        give_up();
    }
}

/// As [`need`], for a table that is about to grow, by doubling, if it is full.
#[inline]
pub fn need_to_grow(length: usize, capacity: usize, entry: usize) {
    if length >= capacity {
        need(capacity.saturating_mul(2).saturating_mul(entry));
    }
}

/// As [`need_to_grow`], for a hash table, which has some free places and a byte beside each.
#[inline]
pub fn need_to_hash(length: usize, capacity: usize, entry: usize) {
    if length >= capacity {
        need(capacity.saturating_mul(3).saturating_mul(entry + 1));
    }
}

#[cold]
fn give_up() {
    allocator::system_refused();
    // Who cleans up behind one that has given up cannot do so as well.
    if std::thread::panicking() {
        return;
    }
    // Not a panic, which would be told as a fault of the agent.
    std::panic::resume_unwind(Box::new(OutOfMemory))
}
