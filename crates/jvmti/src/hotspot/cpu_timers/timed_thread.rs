//! A thread that is sampled: its timer, its record for the handler, its CPU clock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::interrupted_threads::{InterruptedThread, InterruptedThreads};
use super::timer::{self, Timer};
use crate::clock::ThreadCpuClock;

/// A thread with a timer, which is deleted on drop.
pub struct TimedThread {
    pub(super) timer: Option<Timer>,
    pub(super) record: HeldRecord,
    pub(super) clock: ThreadCpuClock,
    pub(super) tid: i32,
}

/// A record that is freed on drop, after the timer whose signals name it.
pub(super) struct HeldRecord(pub(super) u32);

impl TimedThread {
    /// Starts sampling the thread: after `first` of CPU time, and then after each interval of it.
    pub fn arm(&self, first: Duration, interval: Duration) {
        self.set(first, Some(interval));
    }

    /// Stops sampling the thread.
    pub fn disarm(&self) {
        self.set(Duration::ZERO, None);
    }

    fn set(&self, first: Duration, interval: Option<Duration>) {
        if let Some(timer) = &self.timer {
            // The system refuses only invalid times, which these are not.
            let _ = timer.set(first, interval);
        }
    }

    /// Returns `true` if the thread has a timer of its own.
    pub fn has_timer(&self) -> bool {
        self.timer.is_some()
    }

    /// Returns `true`: without a timer, the thread is looked at in every round.
    pub fn is_in_turn(&self) -> bool {
        true
    }

    /// Has the thread take a sample that stands for so many intervals more, if it is running now: a signal could end a system
    /// call that it waits in. Returns the number of intervals that it does so for.
    pub fn interrupt(&self, intervals: u64) -> u64 {
        let Some(record) = self.record.get().filter(|_| intervals > 0) else {
            return 0;
        };
        if !is_running(self.tid) {
            return 0;
        }
        let asked = u32::try_from(intervals).unwrap_or(u32::MAX);
        record.asked.fetch_add(asked, Ordering::Release);
        // One that is lost is made up for by the next.
        let _ = timer::send(self.tid, self.record.0);
        intervals
    }

    /// Returns the number of intervals that the samples stand for.
    pub fn charged(&self) -> u64 {
        let record = self.record.get();
        record.map_or(0, |record| record.charged.load(Ordering::Relaxed))
    }

    /// Returns the number of intervals from a sample to the next: more than one where a sample takes long.
    pub fn apart(&self) -> u64 {
        let record = self.record.get();
        record.map_or(0, |record| record.apart.load(Ordering::Relaxed).into())
    }

    /// Returns `true` if the thread is gone, as far as the system can tell; `is_armed` says whether its timer should be
    /// running. Its ThreadEnd may have been missed.
    pub fn is_gone(&self, is_armed: bool) -> bool {
        let is_idle = || self.timer.as_ref().is_some_and(Timer::is_idle);
        self.clock.read().is_none() || is_armed && is_idle()
    }

    /// Returns the CPU time of the thread in nanoseconds; `None` if it has ended. Its id may then be another thread's.
    pub fn cpu_time(&self) -> Option<u64> {
        self.clock.read()
    }

    /// Returns the system's id of the thread.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Notes that the thread now carries the virtual thread of that serial number, or none.
    pub fn carries(&self, virtual_thread: Option<u32>) {
        if let Some(record) = self.record.get() {
            let serial = virtual_thread.unwrap_or(0);
            record.virtual_thread.store(serial, Ordering::Relaxed);
        }
    }
}

impl HeldRecord {
    fn get(&self) -> Option<&'static InterruptedThread> {
        InterruptedThreads::shared()?.get(self.0 as usize)
    }
}

impl Drop for HeldRecord {
    fn drop(&mut self) {
        if let Some(records) = InterruptedThreads::shared() {
            records.give_back(self.0);
        }
    }
}

/// Returns `true` if a thread of this process runs, or waits for nothing but a processor.
fn is_running(tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
    // The name of the thread, in parentheses, may hold anything.
    stat.is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
    })
}
