//! The threads that keep state for a session, for reports and the end of the session to reach.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use spin::RelaxStrategy;
use spin::mutex::{SpinMutex, SpinMutexGuard};

use super::live_objects::Chunk;
use super::thread_tracker::ThreadTracker;
use crate::lock_order::{self, Guard, Mutex, rank};

/// A lock for state that one thread uses millions of times before any other wants it. Taking it is one locked
/// instruction, releasing it none.
#[derive(Default)]
pub(super) struct OwnLock<T>(SpinMutex<T, Sleep>);

type OwnGuard<'a, T> = Guard<SpinMutexGuard<'a, T, Sleep>, rank::ThreadTracker>;

/// The strategy for waiting for such a lock.
pub(super) struct Sleep;

/// The longest that others wait for threads in an allocation event, all threads together: a thread that a debugger has
/// suspended there never leaves it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between two attempts to take the lock.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// The state of each thread.
#[derive(Default)]
pub(super) struct TrackedThreads(
    Mutex<Vec<Arc<OwnLock<Option<ThreadTracker>>>>, rank::TrackedThreads>,
);

impl RelaxStrategy for Sleep {
    fn relax() {
        thread::sleep(POLL_INTERVAL);
    }
}

impl<T> OwnLock<T> {
    fn new(value: T) -> Self {
        Self(SpinMutex::new(value))
    }

    #[inline]
    pub(super) fn lock(&self) -> OwnGuard<'_, T> {
        lock_order::check::<rank::ThreadTracker>();
        Guard::new(self.0.lock())
    }

    /// Waits for the lock, until `end` at the latest.
    fn lock_until(&self, end: Instant) -> Option<OwnGuard<'_, T>> {
        lock_order::check::<rank::ThreadTracker>();
        loop {
            if let Some(guard) = self.0.try_lock() {
                return Some(Guard::new(guard));
            }
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl TrackedThreads {
    /// Adds the state of a thread.
    pub(super) fn add(&self, sites: ThreadTracker) -> Arc<OwnLock<Option<ThreadTracker>>> {
        let sites = Arc::new(OwnLock::new(Some(sites)));
        self.0.lock().push(sites.clone());
        sites
    }

    /// Takes the recent objects of threads that have ended, and forgets those threads.
    pub(super) fn take_ended(&self) -> Vec<Chunk> {
        // The other owner is the thread.
        let has_ended = |sites: &mut Arc<_>| Arc::strong_count(sites) == 1;
        let ended: Vec<_> = self.0.lock().extract_if(.., has_ended).collect();
        end_all(&ended, TIMEOUT)
    }

    /// Takes the recent objects of all threads.
    pub(super) fn take_objects(&self) -> Vec<Chunk> {
        let threads = self.0.lock().clone();
        let take =
            |sites: &mut Option<ThreadTracker>| sites.as_mut().map(ThreadTracker::take_objects);
        with_each(&threads, TIMEOUT, take)
    }

    /// Removes the state of all threads; returns their recent objects.
    pub(super) fn end(&self) -> Vec<Chunk> {
        self.end_within(TIMEOUT)
    }

    /// As [`TrackedThreads::end`], but skips threads that take longer than `timeout`.
    pub(super) fn end_within(&self, timeout: Duration) -> Vec<Chunk> {
        let threads = std::mem::take(&mut *self.0.lock());
        end_all(&threads, timeout)
    }
}

fn end_all(threads: &[Arc<OwnLock<Option<ThreadTracker>>>], timeout: Duration) -> Vec<Chunk> {
    // The state is dropped without a lock held, because that calls the VM.
    let kept = with_each(threads, timeout, Option::take);
    let chunks = kept.into_iter().map(|mut sites| sites.take_objects());
    chunks.collect()
}

/// Calls `take` for each thread's state, except for threads that do not release it within `timeout`.
fn with_each<T, U>(
    threads: &[Arc<OwnLock<T>>],
    timeout: Duration,
    take: impl Fn(&mut T) -> Option<U>,
) -> Vec<U> {
    let end = Instant::now() + timeout;
    threads
        .iter()
        .filter_map(|thread| take(&mut *thread.lock_until(end)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads() -> Vec<Arc<OwnLock<Option<u32>>>> {
        (0..3)
            .map(|number| Arc::new(OwnLock::new(Some(number))))
            .collect()
    }

    #[test]
    fn a_thread_that_never_comes_out_is_left_out() {
        let threads = threads();
        // Taken as another thread would take it.
        let stuck = threads[1].0.lock();
        let taken = with_each(&threads, Duration::from_millis(10), Option::take);
        assert_eq!(taken, [0, 2]);
        drop(stuck);
        assert_eq!(*threads[1].lock(), Some(1), "what it keeps stays its own");
    }

    #[test]
    fn a_thread_that_comes_out_is_waited_for() {
        let threads = threads();
        let is_inside = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut own = threads[1].lock();
                is_inside.wait();
                thread::sleep(10 * POLL_INTERVAL);
                *own = Some(7);
            });
            is_inside.wait();
            let taken = with_each(&threads, Duration::from_secs(60), Option::take);
            assert_eq!(taken, [0, 7, 2]);
        });
    }
}
