//! The in-flight gate: counts the running callbacks and requests, so that the end of a session can wait for them and
//! admit no more, and catches their panics.
//!
//! A gate is open while a session runs. The value behind it is freed by the thread that closes it, and only when no
//! thread is inside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

use locks::{Condvar, Mutex, rank};

use super::own_time::OwnTime;

/// A gate to a `T` that many threads use while it is open.
pub struct Gate<T: 'static> {
    /// Null while the gate is closed.
    inner: AtomicPtr<T>,
    /// Set when a callback has panicked since the gate was opened.
    panicked: AtomicBool,
    /// The number of threads inside, spread over several counters so that threads with many events do not contend for
    /// one.
    running: [Counter; COUNTERS],
    waiting: Mutex<(), rank::GateWaiting>,
    exited: Condvar,
}

const COUNTERS: usize = 16;
/// The minimal size of stacks, in bits of an address.
const STACK_BITS: u32 = 16;
/// An odd number whose multiples spread over all bits.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15;

/// A counter with a cache line of its own (two, because some CPUs fetch them in pairs).
#[repr(align(128))]
struct Counter(AtomicUsize);

/// A thread inside the gate; leaves on drop.
struct InFlight<'a, T: 'static> {
    gate: &'a Gate<T>,
    counter: &'a AtomicUsize,
}

/// Shows that panics are caught and that none was before, without a count: nothing of the gate keeps a session. Only
/// [`Gate::run_outside`] makes one.
pub struct OutsideGate(());

/// The value behind a gate that has been closed.
pub enum Closed<T: 'static> {
    /// No thread is inside any more.
    Empty(Box<T>),
    /// A thread never left, and may use the value indefinitely.
    Occupied(&'static T),
}

impl<T> Closed<T> {
    /// Returns the value that was behind the gate.
    pub fn get(&self) -> &T {
        match self {
            Closed::Empty(inner) => inner,
            Closed::Occupied(inner) => inner,
        }
    }
}

impl<T: Send + Sync> Default for Gate<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync> Gate<T> {
    /// Creates a closed gate.
    pub const fn new() -> Self {
        Self {
            inner: AtomicPtr::new(ptr::null_mut()),
            panicked: AtomicBool::new(false),
            running: [const { Counter(AtomicUsize::new(0)) }; COUNTERS],
            waiting: Mutex::new(()),
            exited: Condvar::new(),
        }
    }

    /// Returns `true` if the gate is open.
    pub fn is_open(&self) -> bool {
        !self.inner.load(Ordering::SeqCst).is_null()
    }

    /// Returns `true` if a callback has panicked since the gate was opened, after which none run.
    pub fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }

    /// Opens the gate to `inner`; returns it as the error if the gate is open already.
    pub fn open(&self, inner: T) -> Result<(), T> {
        let raw = Box::into_raw(Box::new(inner));
        self.panicked.store(false, Ordering::Relaxed);
        let opened =
            self.inner
                .compare_exchange(ptr::null_mut(), raw, Ordering::SeqCst, Ordering::SeqCst);
        match opened {
            Ok(_) => Ok(()),
            // SAFETY: the pointer was made from a box above, and nobody else has seen it.
            Err(_) => Err(*unsafe { Box::from_raw(raw) }),
        }
    }

    /// Closes the gate and waits until all threads have left, but no longer than `timeout`: a thread that a debugger
    /// suspended inside never leaves. Returns `None` if the gate was closed already.
    pub fn close(&self, timeout: Duration) -> Option<Closed<T>> {
        let inner = self.inner.swap(ptr::null_mut(), Ordering::SeqCst);
        if inner.is_null() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        // Once empty it stays so: any thread that still comes finds null, and turns back.
        let mut is_empty = false;
        let mut occupied = |_: &mut ()| {
            is_empty = self.is_empty();
            !is_empty
        };
        self.exited
            .wait_while_for(&mut waiting, &mut occupied, timeout);
        Some(if is_empty {
            // SAFETY: `open` made the pointer from a box; the swap gave it to this call alone; every thread that read
            // it before has left, and every later one finds null.
            Closed::Empty(unsafe { Box::from_raw(inner) })
        } else {
            // SAFETY: as above, but that it is never freed.
            Closed::Occupied(unsafe { &*inner })
        })
    }

    /// Runs a callback, unless the gate is closed, an earlier one has panicked, or memory is out. Catches panics.
    pub fn run<R>(&self, body: impl FnOnce(&T) -> R) -> Option<R> {
        if self.refuses_callbacks() {
            return None;
        }
        self.noted(self.run_always(body)?)
    }

    /// As [`Gate::run`], regardless of whether the gate is open: for a callback that itself makes sure that its session
    /// lasts.
    #[inline]
    pub fn run_outside<R>(&self, body: impl FnOnce(OutsideGate) -> R) -> Option<R> {
        if self.refuses_callbacks() {
            return None;
        }
        let _own_time = OwnTime::begin();
        self.noted(caught(|| body(OutsideGate(()))))
    }

    #[inline]
    fn refuses_callbacks(&self) -> bool {
        self.has_panicked() || memory::is_out()
    }

    /// Running out of memory unwinds, too, and is not a fault of the agent.
    fn noted<R>(&self, answer: Result<R, Panicked>) -> Option<R> {
        if answer.is_err() && !memory::is_out() {
            self.panicked.store(true, Ordering::Relaxed);
        }
        answer.ok()
    }

    /// Runs a request from outside the VM, even after a panic; `None` if the gate is closed.
    pub fn run_always<R>(&self, body: impl FnOnce(&T) -> R) -> Option<Result<R, Panicked>> {
        let _own_time = OwnTime::begin();
        let _in_flight = self.enter();
        // The count goes up before this look, and `close` looks at the counts after it wrote null: one of the two
        // always sees the other.
        //
        // SAFETY: what is not null lives until `_in_flight` has counted itself out, at the end of this call.
        let inner = unsafe { self.inner.load(Ordering::SeqCst).as_ref() }?;
        Some(caught(|| body(inner)))
    }

    fn enter(&self) -> InFlight<'_, T> {
        let counter = &self.running[own_counter()].0;
        counter.fetch_add(1, Ordering::SeqCst);
        InFlight {
            gate: self,
            counter,
        }
    }

    fn is_empty(&self) -> bool {
        self.running
            .iter()
            .all(|counter| counter.0.load(Ordering::SeqCst) == 0)
    }
}

/// A panic was caught; its hook has reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

/// Runs `body` and catches panics.
pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        // Dropping the payload may panic as well, so it is leaked.
        std::mem::forget(payload);
        Panicked
    })
}

/// Returns the counter of this thread; several threads may share one. It is chosen by the address of the thread's
/// stack, which needs no thread-local storage; a thread inside keeps the counter it has found.
#[inline]
fn own_counter() -> usize {
    let on_the_stack = 0_u8;
    let stack = (&raw const on_the_stack).addr() >> STACK_BITS;
    // Stacks are a power of two and some pages apart, so the high bits of the product differ.
    (stack.wrapping_mul(SPREAD) >> (usize::BITS - COUNTERS.ilog2())) % COUNTERS
}

impl<T> Drop for InFlight<'_, T> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::SeqCst);
        if self.gate.inner.load(Ordering::SeqCst).is_null() {
            // The lock orders this notification after the waiter's look at the counts.
            let _waiting = self.gate.waiting.lock();
            self.gate.exited.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn threads_that_run_together_hardly_share_counters() {
        let together = std::sync::Barrier::new(COUNTERS);
        let mut used: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..COUNTERS)
                .map(|_| {
                    scope.spawn(|| {
                        together.wait();
                        own_counter()
                    })
                })
                .collect();
            let counters = threads.into_iter().map(|thread| thread.join());
            counters.map(Result::unwrap).collect()
        });
        used.sort_unstable();
        used.dedup();
        assert!(used.len() >= COUNTERS / 4, "{used:?}");
    }

    type Counts = Arc<AtomicU32>;

    fn gate() -> (Gate<Counts>, Counts) {
        let gate = Gate::new();
        let counts = reopen(&gate);
        (gate, counts)
    }

    fn reopen(gate: &Gate<Counts>) -> Counts {
        let counts = Counts::default();
        gate.open(counts.clone()).expect("it was closed");
        counts
    }

    fn count(gate: &Gate<Counts>) -> Option<u32> {
        gate.run(|counts| counts.fetch_add(1, Ordering::SeqCst))
    }

    #[test]
    fn a_panic_stays_inside_and_is_the_last_callback() {
        let (gate, counts) = gate();
        assert_eq!(gate.run(|_| -> u32 { panic!("in a callback") }), None);
        assert!(gate.has_panicked());
        assert_eq!(count(&gate), None);
        assert_eq!(counts.load(Ordering::SeqCst), 0, "no callback follows");
        assert!(gate.is_empty(), "the panicking one counted itself out");
        assert_eq!(gate.run_always(|_| 1), Some(Ok(1)), "requests are answered");
        let request = gate.run_always(|_| -> u32 { panic!("in a request") });
        assert_eq!(request, Some(Err(Panicked)));
        assert_eq!(gate.run_outside(|_| 1), None, "no callback follows");
        drop(gate.close(LONG));
        reopen(&gate);
        assert_eq!(count(&gate), Some(0), "the next session starts anew");
        assert_eq!(gate.run_outside(|_| -> u32 { panic!("outside") }), None);
        assert_eq!(count(&gate), None, "it was a callback too");
    }

    #[test]
    fn nobody_enters_a_closed_gate() {
        let (gate, counts) = gate();
        let closed = gate.close(LONG).expect("it was open");
        assert_eq!(count(&gate), None);
        assert_eq!(gate.run_always(|_| ()), None);
        assert_eq!(counts.load(Ordering::SeqCst), 0);
        assert!(matches!(closed, Closed::Empty(_)));
        assert!(gate.close(LONG).is_none(), "and it is closed once");
    }

    #[test]
    fn an_open_gate_is_not_opened_again() {
        let (gate, first) = gate();
        let second = gate.open(Counts::default());
        assert!(second.is_err());
        count(&gate);
        assert_eq!(first.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_gate_opens_again_for_another_session() {
        let (gate, first) = gate();
        drop(gate.close(LONG));
        assert_eq!(Arc::strong_count(&first), 1, "the first one is freed");
        let second = reopen(&gate);
        count(&gate);
        assert_eq!(first.load(Ordering::SeqCst), 0);
        assert_eq!(second.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn closing_waits_for_the_callbacks_that_run() {
        let (gate, counts) = gate();
        let inside = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                gate.run(|counts| {
                    inside.wait();
                    // The other thread is in `close`, or about to be: both orders must hold.
                    while gate.is_open() {
                        thread::yield_now();
                    }
                    counts.fetch_add(1, Ordering::SeqCst);
                });
            });
            inside.wait();
            gate.close(LONG);
            assert_eq!(counts.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn closing_does_not_wait_for_ever_and_frees_nothing_in_use() {
        let (gate, counts) = gate();
        let _stuck = gate.enter();
        let closed = gate.close(Duration::from_millis(10));
        assert!(matches!(closed, Some(Closed::Occupied(_))));
        drop(closed);
        assert_eq!(Arc::strong_count(&counts), 2, "the one inside may use it");
    }

    #[test]
    fn gates_that_open_and_close_under_load_lose_nobody() {
        let gate: Gate<Counts> = Gate::new();
        let end = AtomicBool::new(false);
        let seen = AtomicU32::new(0);
        let counted = thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !end.load(Ordering::SeqCst) {
                        seen.fetch_add(u32::from(count(&gate).is_some()), Ordering::SeqCst);
                    }
                });
            }
            let mut counted = 0;
            for _ in 0..200 {
                let counts = reopen(&gate);
                thread::yield_now();
                let closed = gate.close(LONG);
                assert!(matches!(closed, Some(Closed::Empty(_))));
                drop(closed);
                assert_eq!(Arc::strong_count(&counts), 1);
                counted += counts.load(Ordering::SeqCst);
            }
            end.store(true, Ordering::SeqCst);
            counted
        });
        assert_eq!(
            counted,
            seen.load(Ordering::SeqCst),
            "every callback that was let in reached the session of its time"
        );
    }
}
