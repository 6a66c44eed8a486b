//! Decides which allocations are sampled: each thread counts down the bytes until the next one.
//!
//! The bytes between two samples are exponentially distributed, and so independent of what was allocated before: every byte
//! is sampled with the same probability, and an allocation of `s` bytes with `1 - e^(-s / interval)`.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a countdown that hold the bytes; those above hold the session's number, so that what an earlier session
/// has left does not count.
const BYTES_BITS: u32 = 48;
/// The most bytes of a countdown.
const MOST: u64 = (1 << BYTES_BITS) - 1;
/// The numbers of sessions are from 1 to this one, and begin again.
const SESSIONS: u64 = (1 << 15) - 1;
/// Stands for no session: no countdown is greater.
const NO_SESSION: u64 = u64::MAX;

/// The number of the current session, in its place in a countdown.
static SESSION: AtomicU64 = AtomicU64::new(NO_SESSION);
/// The number of the last session.
static LAST_SESSION: AtomicU64 = AtomicU64::new(0);
/// The mean number of bytes between two samples.
static INTERVAL: AtomicU64 = AtomicU64::new(1);
/// The state of the random numbers, for all threads: they are rarely drawn.
static RANDOM: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // It is constant and has no destructor, so nothing is allocated or registered for it. The memory comes with the thread
    // (`memory::thread_local`).
    static COUNTDOWN: Cell<u64> = const { Cell::new(0) };
}

/// Begins a session.
pub(super) fn begin(interval: u64, seed: u64) {
    let number = LAST_SESSION.load(Ordering::Relaxed) % SESSIONS + 1;
    LAST_SESSION.store(number, Ordering::Relaxed);
    INTERVAL.store(interval.max(1), Ordering::Relaxed);
    RANDOM.store(seed, Ordering::Relaxed);
    SESSION.store(number << BYTES_BITS, Ordering::SeqCst);
}

/// Ends the session: nothing is sampled any more.
pub(super) fn end() {
    SESSION.store(NO_SESSION, Ordering::SeqCst);
}

/// Counts an allocation of the current thread; returns `true` if it is to be sampled.
#[inline(always)]
pub(super) fn is_due(bytes: usize) -> bool {
    let bytes = bytes as u64;
    COUNTDOWN.with(|countdown| {
        let left = countdown.get();
        if left > SESSION.load(Ordering::Relaxed).saturating_add(bytes) {
            countdown.set(left - bytes);
            return false;
        }
        is_due_at_end(countdown, bytes)
    })
}

/// The rare case: the countdown ends, or has not begun in this session.
#[cold]
#[inline(never)]
fn is_due_at_end(countdown: &Cell<u64>, bytes: u64) -> bool {
    let session = SESSION.load(Ordering::SeqCst);
    if session == NO_SESSION {
        return false;
    }
    let left = countdown.get().wrapping_sub(session);
    let left = if left == 0 || left > MOST {
        draw()
    } else {
        left
    };
    if left > bytes {
        countdown.set(session + (left - bytes));
        return false;
    }
    countdown.set(session + draw());
    true
}

/// Lets no allocation of the current thread be sampled until it is dropped.
pub(super) struct Paused(u64);

impl Paused {
    pub(super) fn begin() -> Self {
        let session = SESSION.load(Ordering::Relaxed).min(SESSIONS << BYTES_BITS);
        Self(COUNTDOWN.with(|countdown| countdown.replace(session + MOST)))
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        COUNTDOWN.with(|countdown| countdown.set(self.0));
    }
}

/// Returns the number of blocks that a sampled one stands for.
pub(super) fn stands_for(bytes: u64) -> f64 {
    let interval = INTERVAL.load(Ordering::Relaxed) as f64;
    1.0 / -(-(bytes as f64) / interval).exp_m1()
}

/// Returns an exponentially distributed number of bytes, at least one.
fn draw() -> u64 {
    // SplitMix64, by Steele, Lea and Flood: each number is a function of the state alone.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = RANDOM.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    random ^= random >> 31;
    let share = ((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let bytes = -share.ln() * INTERVAL.load(Ordering::Relaxed) as f64;
    // Rounded up: at least `n` bytes are left with the probability of the distribution for any whole `n`.
    (bytes.ceil() as u64).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_unbiased_and_a_session_does_not_count_for_the_next() {
        assert!(!is_due(1 << 40), "no session");
        for (interval, size, blocks) in [(10_000, 400, 1_000_000_u64), (512, 64, 500_000)] {
            begin(interval, 7);
            let mut estimate = 0.0;
            for _ in 0..blocks {
                if is_due(size) {
                    estimate += stands_for(size as u64);
                }
            }
            let ratio = estimate / blocks as f64;
            assert!((ratio - 1.0).abs() < 0.03, "{ratio} of {size} bytes");
            assert!(is_due(usize::MAX >> 1), "larger than any interval");
            let paused = Paused::begin();
            assert!(!is_due(1 << 30));
            drop(paused);
            end();
            assert!(!is_due(1 << 40));
        }
        // A countdown of a long interval does not keep a short one from its samples.
        begin(1 << 30, 1);
        assert!(!is_due(1));
        begin(1, 1);
        assert!((0..1_000).filter(|_| is_due(64)).count() > 990);
        end();
    }
}
