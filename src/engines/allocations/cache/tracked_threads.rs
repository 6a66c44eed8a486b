//! The threads that keep state for a session, for reports and the end of the session to reach.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use spin::RelaxStrategy;
use spin::mutex::{SpinMutex, SpinMutexGuard};

use super::super::liveness::Chunk;
use locks::{Guard, Mutex, rank};

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

/// The state of one thread, with the objects that it allocated last, as other threads see it. They wait for it until `end` at the
/// latest.
pub(super) trait Kept: Send + Sync {
    /// Takes the thread's recent objects; `None` if it has no state, or does not release it in time.
    fn take_objects(&self, end: Instant) -> Option<Chunk>;

    /// Removes the thread's state and returns its recent objects; `None` as above.
    fn remove(&self, end: Instant) -> Option<Chunk>;
}

/// The state of each thread.
#[derive(Default)]
pub(in super::super) struct TrackedThreads(Mutex<Vec<Arc<dyn Kept>>, rank::TrackedThreads>);

impl RelaxStrategy for Sleep {
    fn relax() {
        thread::sleep(POLL_INTERVAL);
    }
}

impl<T> OwnLock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(SpinMutex::new(value))
    }

    #[inline]
    pub(super) fn lock(&self) -> OwnGuard<'_, T> {
        locks::check::<rank::ThreadTracker>();
        Guard::new(self.0.lock())
    }

    /// Calls `body` with what the lock protects, unless it is not released until `end`.
    pub(super) fn with_until<U>(
        &self,
        end: Instant,
        body: impl FnOnce(&mut T) -> Option<U>,
    ) -> Option<U> {
        body(&mut *self.lock_until(end)?)
    }

    /// Waits for the lock, until `end` at the latest.
    fn lock_until(&self, end: Instant) -> Option<OwnGuard<'_, T>> {
        locks::check::<rank::ThreadTracker>();
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
    pub(super) fn add(&self, state: Arc<dyn Kept>) {
        self.0.lock().push(state);
    }

    /// Takes the recent objects of threads that have ended, and forgets those threads.
    pub(in super::super) fn take_ended(&self) -> Vec<Chunk> {
        // The other owner is the thread.
        let has_ended = |state: &mut Arc<_>| Arc::strong_count(state) == 1;
        let ended: Vec<_> = self.0.lock().extract_if(.., has_ended).collect();
        remove_all(&ended, TIMEOUT)
    }

    /// Takes the recent objects of all threads.
    pub(in super::super) fn take_objects(&self) -> Vec<Chunk> {
        self.take_objects_within(TIMEOUT)
    }

    /// As [`TrackedThreads::take_objects`], but skips threads that take longer than `timeout`.
    pub(in super::super) fn take_objects_within(&self, timeout: Duration) -> Vec<Chunk> {
        let threads = self.0.lock().clone();
        let end = Instant::now() + timeout;
        let taken = threads.iter().filter_map(|thread| thread.take_objects(end));
        taken.collect()
    }

    /// Removes the state of all threads; returns their recent objects.
    pub(in super::super) fn end(&self) -> Vec<Chunk> {
        self.end_within(TIMEOUT)
    }

    /// As [`TrackedThreads::end`], but skips threads that take longer than `timeout`.
    pub(in super::super) fn end_within(&self, timeout: Duration) -> Vec<Chunk> {
        let threads = std::mem::take(&mut *self.0.lock());
        remove_all(&threads, timeout)
    }
}

fn remove_all(threads: &[Arc<dyn Kept>], timeout: Duration) -> Vec<Chunk> {
    let end = Instant::now() + timeout;
    let removed = threads.iter().filter_map(|thread| thread.remove(end));
    removed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads() -> Vec<Arc<OwnLock<Option<u32>>>> {
        (0..3)
            .map(|number| Arc::new(OwnLock::new(Some(number))))
            .collect()
    }

    fn take_all(threads: &[Arc<OwnLock<Option<u32>>>], timeout: Duration) -> Vec<u32> {
        let end = Instant::now() + timeout;
        let taken = threads.iter();
        taken
            .filter_map(|thread| thread.with_until(end, Option::take))
            .collect()
    }

    #[test]
    fn a_thread_that_never_comes_out_is_left_out() {
        let threads = threads();
        // Taken as another thread would take it.
        let stuck = threads[1].0.lock();
        let taken = take_all(&threads, Duration::from_millis(10));
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
            let taken = take_all(&threads, Duration::from_secs(60));
            assert_eq!(taken, [0, 7, 2]);
        });
    }
}
