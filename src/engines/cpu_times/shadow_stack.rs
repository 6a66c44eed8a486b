//! The methods that a thread is in, according to the hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use locks::{Mutex, rank};

/// The number of frames that a new stack has room for.
const ROOM: usize = 64;
/// The initial value of the clock: a virtual thread's calls began before its carrier's clock did, so it must be far
/// from 0.
const START: u64 = 1 << 62;
/// The value of `since` for a frame whose time already counts as total further out.
const NOT_COUNTED: u64 = u64::MAX;

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The method's number.
    pub method: u32,
    /// Its context in the thread's tree.
    pub context: u32,
    /// The stack's clock when the call began, and the number of pieces of time until then; `None` if its time counts as
    /// total further out.
    pub since: Option<(u64, u64)>,
    /// An address on the native stack that is certainly below the method's own frame, the lowest known.
    pub at: usize,
}

/// The calls of one thread that have not returned. Only its thread writes it; others read it while it changes, and may
/// see a half-written frame.
pub(super) struct CallStack {
    frames: Arc<[SharedCall]>,
    depth: usize,
    clock: u64,
    gaps: u64,
    published: Arc<PublishedStack>,
}

/// The part of a stack that other threads read.
#[derive(Default)]
pub(super) struct PublishedStack {
    frames: Mutex<Arc<[SharedCall]>, rank::PublishedStack>,
    depth: AtomicUsize,
    clock: AtomicU64,
    gaps: AtomicU64,
}

#[derive(Default)]
struct SharedCall {
    method: AtomicU32,
    context: AtomicU32,
    since: AtomicU64,
    gaps_since: AtomicU64,
    at: AtomicUsize,
}

impl SharedCall {
    #[inline]
    fn set(&self, call: Call) {
        let (since, gaps) = call.since.unwrap_or((NOT_COUNTED, 0));
        self.method.store(call.method, Ordering::Relaxed);
        self.context.store(call.context, Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        self.gaps_since.store(gaps, Ordering::Relaxed);
        self.at.store(call.at, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> Call {
        let since = self.since.load(Ordering::Relaxed);
        Call {
            method: self.method.load(Ordering::Relaxed),
            context: self.context.load(Ordering::Relaxed),
            since: (since != NOT_COUNTED).then(|| (since, self.gaps_since.load(Ordering::Relaxed))),
            at: self.at.load(Ordering::Relaxed),
        }
    }
}

fn room(frames: usize) -> Arc<[SharedCall]> {
    (0..frames).map(|_| SharedCall::default()).collect()
}

impl CallStack {
    /// Creates a stack without calls.
    pub(super) fn new() -> Self {
        let frames = room(ROOM);
        let published = PublishedStack {
            frames: Mutex::new(frames.clone()),
            ..PublishedStack::default()
        };
        Self {
            frames,
            depth: 0,
            clock: START,
            gaps: START,
            published: Arc::new(published),
        }
    }

    /// Returns the part that other threads may read.
    pub(super) fn published(&self) -> Arc<PublishedStack> {
        self.published.clone()
    }

    /// Advances the clock by time of the owning thread.
    #[inline]
    pub(super) fn pass(&mut self, ticks: u64) {
        self.clock += ticks;
        self.gaps += 1;
        self.published.clock.store(self.clock, Ordering::Relaxed);
        self.published.gaps.store(self.gaps, Ordering::Relaxed);
    }

    /// Returns the time that has passed, and the number of its pieces.
    #[inline]
    pub(super) fn clock(&self) -> (u64, u64) {
        (self.clock, self.gaps)
    }

    /// Returns the innermost call.
    #[inline]
    pub(super) fn top(&self) -> Option<Call> {
        self.frames
            .get(self.depth.wrapping_sub(1))
            .map(SharedCall::get)
    }

    #[inline]
    pub(super) fn push(&mut self, call: Call) {
        if self.depth == self.frames.len() {
            self.grow();
        }
        self.frames[self.depth].set(call);
        self.depth += 1;
        self.published.depth.store(self.depth, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Call> {
        let call = self.top()?;
        self.depth -= 1;
        self.published.depth.store(self.depth, Ordering::Relaxed);
        Some(call)
    }

    /// Returns the number of calls inside the innermost call of a method; `None` if the method is not on the stack.
    pub(super) fn distance(&self, method: u32) -> Option<usize> {
        let calls = self.frames[..self.depth].iter().rev();
        calls
            .map(|frame| frame.method.load(Ordering::Relaxed))
            .position(|other| other == method)
    }

    /// Iterates over the calls, outermost first.
    pub(super) fn calls(&self) -> impl Iterator<Item = Call> {
        self.frames[..self.depth].iter().map(SharedCall::get)
    }

    #[cold]
    fn grow(&mut self) {
        let frames = self.frames.len() * 2;
        memory::need(frames * size_of::<SharedCall>());
        let larger = room(frames);
        for (frame, call) in larger.iter().zip(self.calls()) {
            frame.set(call);
        }
        self.frames = larger;
        *self.published.frames.lock() = self.frames.clone();
    }
}

impl PublishedStack {
    /// Returns the number of the thread's events.
    pub(super) fn events(&self) -> u64 {
        self.gaps.load(Ordering::Relaxed).saturating_sub(START)
    }

    /// Calls `visit` for every call whose time counts as total, with its context, that time up to now and its pieces.
    pub(super) fn each_open(&self, mut visit: impl FnMut(u32, u64, u64)) {
        let frames = self.frames.lock().clone();
        let clock = self.clock.load(Ordering::Relaxed);
        let gaps = self.gaps.load(Ordering::Relaxed);
        let depth = self.depth.load(Ordering::Relaxed);
        for call in frames.iter().take(depth).map(SharedCall::get) {
            if let Some((since, gaps_since)) = call.since {
                visit(
                    call.context,
                    clock.saturating_sub(since),
                    gaps.saturating_sub(gaps_since),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: u32) -> Call {
        Call {
            method,
            context: method + 1,
            since: Some((START + u64::from(method), START)),
            at: 0,
        }
    }

    #[test]
    fn calls_come_back_in_reverse() {
        let mut stack = CallStack::new();
        assert_eq!((stack.top(), stack.pop()), (None, None));
        for method in 0..10_000 {
            stack.push(call(method));
        }
        assert_eq!(stack.distance(9_990), Some(9));
        assert_eq!(stack.distance(10_000), None);
        assert!(stack.calls().eq((0..10_000).map(call)));
        for method in (0..10_000).rev() {
            assert_eq!(stack.pop(), Some(call(method)));
        }
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn others_see_what_is_open() {
        let mut stack = CallStack::new();
        stack.pass(7);
        stack.push(call(3));
        stack.push(Call {
            since: None,
            ..call(5)
        });
        stack.pass(2);
        let mut seen = Vec::new();
        let published = stack.published();
        published.each_open(|context, ticks, gaps| seen.push((context, ticks, gaps)));
        assert_eq!(seen, [(4, 6, 2)]);
    }
}
