//! The threads that keep something of a session, for those who want it from them: a report, the end.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use spin::RelaxStrategy;
use spin::mutex::{SpinMutex, SpinMutexGuard};

use super::live_objects::Chunk;
use super::thread_tracker::ThreadTracker;
use crate::lock_order::{self, Guard, Mutex, rank};

/// The lock of what one thread uses a million times before anybody else wants it. To take it is one locked instruction, to
/// give it back none.
#[derive(Default)]
pub(super) struct OwnLock<T>(SpinMutex<T, Sleep>);

type OwnGuard<'a, T> = Guard<SpinMutexGuard<'a, T, Sleep>, rank::ThreadTracker>;

/// How one waits for such a lock.
pub(super) struct Sleep;

/// How long others wait for a thread that is in an allocation event, all threads together: one that a debugger has suspended
/// there never comes out.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at a lock.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// The threads.
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

    /// Waits for the lock, but not beyond `end`.
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
    /// A thread begins to keep something.
    pub(super) fn add(&self, sites: ThreadTracker) -> Arc<OwnLock<Option<ThreadTracker>>> {
        let sites = Arc::new(OwnLock::new(Some(sites)));
        self.0.lock().push(sites.clone());
        sites
    }

    /// The objects that threads made last which have ended. These are forgotten.
    pub(super) fn take_ended(&self) -> Vec<Chunk> {
        // The other owner is the thread.
        let has_ended = |sites: &mut Arc<_>| Arc::strong_count(sites) == 1;
        let ended: Vec<_> = self.0.lock().extract_if(.., has_ended).collect();
        end_all(&ended, TIMEOUT)
    }

    /// The objects that all threads made last.
    pub(super) fn take_objects(&self) -> Vec<Chunk> {
        let threads = self.0.lock().clone();
        let take =
            |sites: &mut Option<ThreadTracker>| sites.as_mut().map(ThreadTracker::take_objects);
        with_each(&threads, TIMEOUT, take)
    }

    /// Has the threads keep nothing any more; answers the objects that they made last.
    pub(super) fn end(&self) -> Vec<Chunk> {
        self.end_within(TIMEOUT)
    }

    /// As [`TrackedThreads::end`], but for threads that take longer.
    pub(super) fn end_within(&self, timeout: Duration) -> Vec<Chunk> {
        let threads = std::mem::take(&mut *self.0.lock());
        end_all(&threads, timeout)
    }
}

fn end_all(threads: &[Arc<OwnLock<Option<ThreadTracker>>>], timeout: Duration) -> Vec<Chunk> {
    // What they keep is freed without a lock: the VM is called for that.
    let kept = with_each(threads, timeout, Option::take);
    let chunks = kept.into_iter().map(|mut sites| sites.take_objects());
    chunks.collect()
}

/// What `take` has of each thread, but for those that come out no sooner than `timeout` lasts.
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
        // As another thread would.
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
