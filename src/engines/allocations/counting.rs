//! Answers a program that counts what it allocates.

use super::cache::AllocatingThread;
use super::counts::{CountId, Row, SiteAmounts, text};
use super::liveness::SWEEP_TIMEOUT;
use super::tracker::AllocationTracker;
use crate::engines::Moment;
use jvmti::Jni;

/// The threads whose allocations a count has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountScope {
    /// The thread that begins it.
    Current,
    /// All threads.
    All,
}

/// The reason something was not counted, for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCounted {
    /// The session estimates, or the VM does not report every allocation.
    #[error(
        "counts would not be exact: the profile of this VM estimates (sample=, budget=), or the VM does not report every allocation"
    )]
    Inexact,
    /// A virtual thread changes its carrier.
    #[error("a virtual thread cannot be counted alone; count all threads")]
    Virtual,
    /// Counts have begun and not ended.
    #[error("too many counts have begun and not ended")]
    TooMany,
    /// No such count, on this thread.
    #[error("this count has ended, or it began on another thread, or its profile was stopped")]
    Unknown,
    /// Another thread is at it, and does not end.
    #[error("a thread of the profiler that counts objects has not ended; it may be suspended")]
    Busy,
    /// Live objects are not known.
    #[error("the VM collected no garbage")]
    NotCollected,
}

impl AllocationTracker {
    /// Begins a count on the current thread. Returns its number.
    pub fn begin_count(&self, jni: Jni<'_>, scope: CountScope) -> Result<u64, NotCounted> {
        if !self.counts_exactly() {
            return Err(NotCounted::Inexact);
        }
        let shared = &self.shared;
        shared.compilers.keep_allocations(shared.env);
        let id = CountId::new();
        let has_room = match scope {
            CountScope::Current if shared.env.is_on_virtual_thread(jni) => {
                return Err(NotCounted::Virtual);
            }
            CountScope::Current => {
                let begin = AllocatingThread::counts(shared, |counts| counts.begin(id));
                begin.ok_or(NotCounted::Unknown)?
            }
            CountScope::All => {
                self.count_all(jni)?;
                shared.all_threads_counts.begin(id, &shared.sites)
            }
        };
        has_room.then_some(id.number()).ok_or(NotCounted::TooMany)
    }

    /// Ends a count, and returns the amounts allocated since it began, by site.
    pub fn end_count(&self, jni: Jni<'_>, number: u64) -> Result<String, NotCounted> {
        let id = CountId::of_number(number);
        let shared = &self.shared;
        let of_thread = AllocatingThread::counts(shared, |counts| counts.end(id)).flatten();
        let amounts = match of_thread {
            Some(amounts) => Ok(amounts),
            None => self.amounts_of_all(jni, id),
        };
        shared.all_threads_counts.end(id);
        let amounts = amounts?;
        let rows: Vec<Row> = amounts
            .into_iter()
            .map(|(site, amount)| (shared.sites.key(site), amount))
            .collect();
        Ok(text(&shared.tables, &rows))
    }

    /// Collects garbage, and returns the live objects of the sites that a count has met; the count continues. They are
    /// those of all threads.
    pub fn live_of_count(&self, jni: Jni<'_>, number: u64) -> Result<String, NotCounted> {
        let id = CountId::of_number(number);
        let shared = &self.shared;
        if !self.settle_with(jni, Moment::Running, true) {
            return Err(NotCounted::NotCollected);
        }
        let of_thread = AllocatingThread::counts(shared, |counts| counts.get(id)).flatten();
        let amounts = match of_thread {
            Some(amounts) => amounts,
            None => self.amounts_of_all(jni, id)?,
        };
        let rows: Vec<Row> = amounts
            .keys()
            .map(|&site| (shared.sites.key(site), shared.sites.get(site).live()))
            .filter(|(_, live)| live.instances > 0)
            .collect();
        Ok(text(&shared.tables, &rows))
    }

    fn amounts_of_all(&self, jni: Jni<'_>, id: CountId) -> Result<SiteAmounts, NotCounted> {
        self.count_all(jni)?;
        let shared = &self.shared;
        let amounts = shared.all_threads_counts.get(id, &shared.sites);
        amounts.ok_or(NotCounted::Unknown)
    }

    fn count_all(&self, jni: Jni<'_>) -> Result<(), NotCounted> {
        let sweep = self.shared.look_at_all(jni);
        let is_counted = self.shared.live.count(sweep, SWEEP_TIMEOUT);
        is_counted.then_some(()).ok_or(NotCounted::Busy)
    }
}
