//! The CPU time of threads that ended after their last sample: the kernel looks at their timers only at its ticks.
//!
//! It counts for the stack of that sample, which is the nearest that is known, if it is less than a tick, or no more than the
//! next sample would have stood for.

use std::time::Duration;

use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::thread::ThreadSerial;

/// The longest time between two ticks of the kernel: `CONFIG_HZ` is 100 or more.
const TICK: Duration = Duration::from_millis(10);

/// A thread that has ended, and the samples that it owes.
pub(super) struct EndedThread {
    pub(super) serial: ThreadSerial,
    pub(super) samples: u64,
    /// The intervals that its samples were apart, at least.
    pub(super) apart: u64,
}

/// The traces of the last samples of the threads that live, and the threads that have ended since the samples were last fetched.
pub(super) struct EndedThreads<T> {
    /// The most samples that a tick has.
    most: u64,
    state: Mutex<State<T>, rank::EndedThreads>,
}

struct State<T> {
    last: Map<ThreadSerial, T>,
    ended: List<EndedThread>,
}

impl<T> EndedThreads<T> {
    pub(super) fn new(interval: Duration) -> Self {
        let most = TICK.as_nanos().div_ceil(interval.as_nanos().max(1));
        Self {
            most: u64::try_from(most).unwrap_or(u64::MAX),
            state: Mutex::new(State {
                last: Map::default(),
                ended: List::new(),
            }),
        }
    }

    /// Notes the trace of the last sample of a thread.
    pub(super) fn sampled(&self, thread: ThreadSerial, trace: T) {
        self.state.lock().last.insert(thread, trace).or_stop();
    }

    /// Notes that a thread has ended.
    pub(super) fn ended(&self, thread: EndedThread) {
        self.state.lock().ended.push(thread).or_stop();
    }

    /// Forgets a thread that has ended without an event.
    pub(super) fn forget(&self, thread: ThreadSerial) {
        self.state.lock().last.remove(&thread);
    }

    /// Returns the threads that have ended since the last call. All their samples have been taken by now, and only need
    /// to be fetched.
    pub(super) fn take_ended(&self) -> List<EndedThread> {
        std::mem::take(&mut self.state.lock().ended)
    }

    /// Returns the trace to which the samples that an ended thread owes are charged, once all its samples have been
    /// fetched; `None` if no sample is near enough.
    pub(super) fn trace(&self, thread: &EndedThread) -> Option<T> {
        let last = self.state.lock().last.remove(&thread.serial);
        last.filter(|_| thread.samples <= self.most.saturating_add(thread.apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(serial: u32, samples: u64) -> EndedThread {
        let serial = ThreadSerial(serial);
        EndedThread {
            serial,
            samples,
            apart: 0,
        }
    }

    #[test]
    fn less_than_a_tick_counts_for_the_last_stack() {
        let threads = EndedThreads::<u32>::new(Duration::from_millis(1));
        threads.sampled(ThreadSerial(1), 7);
        threads.sampled(ThreadSerial(1), 8);
        threads.ended(ended(1, 10));
        let taken = threads.take_ended();
        assert_eq!(taken.len(), 1);
        assert_eq!(threads.trace(&taken[0]), Some(8));
        assert!(threads.take_ended().is_empty());
        assert_eq!(threads.trace(&taken[0]), None, "it is forgotten");
    }

    #[test]
    fn more_than_a_tick_or_a_thread_without_samples_has_no_stack() {
        let threads = EndedThreads::<u32>::new(Duration::from_millis(10));
        threads.sampled(ThreadSerial(1), 7);
        assert_eq!(threads.trace(&ended(1, 2)), None);
        assert_eq!(threads.trace(&ended(2, 1)), None);
        threads.sampled(ThreadSerial(1), 7);
        let apart = 1;
        let thread = EndedThread {
            apart,
            ..ended(1, 2)
        };
        assert_eq!(threads.trace(&thread), Some(7));
        threads.sampled(ThreadSerial(3), 7);
        threads.forget(ThreadSerial(3));
        assert_eq!(threads.trace(&ended(3, 1)), None);
    }
}
