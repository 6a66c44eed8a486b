//! The threads whose CPU time is sampled, each with its timer and its account.

use std::time::Duration;

use super::account::Account;
use jvmti::TimedThread;
use memory::{Map, OrStop};
use names::thread::ThreadSerial;

/// The threads that are currently alive.
pub(super) struct SampledThreads {
    pub(super) sampled: Map<ThreadSerial, SampledThread>,
    pub(super) by_tid: Map<i32, ThreadSerial>,
    /// `true` from the beginning of sampling to its end.
    pub(super) running: bool,
    /// `true` if new threads are sampled.
    pub(super) on: bool,
}

/// A thread that may be charged.
pub(super) struct SampledThread {
    pub(super) timed: TimedThread,
    pub(super) account: Account,
    /// The number of samples that were due when the account was last charged, since the beginning.
    pub(super) due: u64,
    /// The number of samples that it was asked for, if it has no timer.
    pub(super) asked: u64,
    pub(super) on: bool,
}

impl SampledThreads {
    /// Has the threads without a timer take the samples that are due.
    pub(super) fn interrupt_untimed(&mut self, interval: u64) {
        if self.running {
            let threads = self.sampled.values_mut();
            let untimed = threads.filter(|thread| {
                thread.on && !thread.timed.has_timer() && thread.timed.is_in_turn()
            });
            untimed.for_each(|thread| thread.interrupt_if_due(interval));
        }
    }

    pub(super) fn add(&mut self, serial: ThreadSerial, new: SampledThread) {
        // The previous thread with this system id has ended without an event.
        if let Some(before) = self.by_tid.insert(new.timed.tid(), serial).or_stop() {
            self.sampled.remove(&before);
        }
        self.sampled.insert(serial, new).or_stop();
    }

    pub(super) fn remove(&mut self, serial: ThreadSerial) -> Option<SampledThread> {
        let thread = self.sampled.remove(&serial)?;
        let tid = thread.timed.tid();
        if self.by_tid.get(&tid) == Some(&serial) {
            self.by_tid.remove(&tid);
        }
        Some(thread)
    }

    /// Releases the timers and records of threads that have ended without an event: those past their ThreadEnd when the
    /// agent was attached, and those that ended after a panic. The time they still owe is unknown.
    pub(super) fn remove_gone(&mut self) -> Vec<ThreadSerial> {
        let gone: Vec<ThreadSerial> = self
            .sampled
            .iter()
            .filter(|(_, thread)| thread.timed.is_gone(self.running && thread.on))
            .map(|(&serial, _)| serial)
            .collect();
        for &serial in &gone {
            self.remove(serial);
        }
        gone
    }
}

impl SampledThread {
    pub(super) fn switch(&mut self, on: bool, running: bool, interval: u64) {
        if on == self.on {
            return;
        }
        self.on = on;
        // A thread that is ending has nothing more to charge.
        let used = self.timed.cpu_time().unwrap_or(u64::MAX);
        if !on {
            self.due += self.account.charge(used, interval);
            return self.timed.disarm();
        }
        self.account.skip(used);
        if running {
            self.arm(interval);
        }
    }

    /// Has the thread take a sample of what is due if it runs; the rest is due the next time.
    fn interrupt_if_due(&mut self, interval: u64) {
        let Some(used) = self.timed.cpu_time() else {
            return;
        };
        self.due += self.account.charge(used, interval);
        let samples = self.due.saturating_sub(self.asked);
        self.asked += self.timed.interrupt(samples);
    }

    pub(super) fn arm(&self, interval: u64) {
        let first = Duration::from_nanos(self.account.until_next(interval));
        self.timed.arm(first, Duration::from_nanos(interval));
    }

    /// Returns the number of samples that are due by the thread's clock but that the timer has not signaled: the kernel
    /// checks it only at its ticks.
    pub(super) fn owed(&mut self, used: u64, interval: u64) -> u64 {
        self.due += self.account.charge(used, interval);
        self.due.saturating_sub(self.timed.charged())
    }
}
