//! Monitors: what threads lost to contention, by where they were and what they wanted; and the state of all monitors at
//! one time.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::Equivalent;

use super::class::ClassId;
use super::cost::Totals;
use super::intern::Interner;
use super::thread::ThreadSerial;
use super::trace::TraceId;

/// A place where threads contend for monitors of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionId(u32);

/// What makes such a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentionKey {
    /// Where.
    pub trace: TraceId,
    /// The class of the monitors.
    pub class: ClassId,
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contended {
    /// How often a thread had to wait.
    pub count: u64,
    /// How long, in nanoseconds.
    pub nanos: u64,
}

/// The table of contention.
#[derive(Default)]
pub struct Contentions(Interner<Entry>);

struct Entry {
    key: ContentionKey,
    count: AtomicU64,
    nanos: AtomicU64,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl Equivalent<Entry> for ContentionKey {
    fn equivalent(&self, entry: &Entry) -> bool {
        *self == entry.key
    }
}

impl Contentions {
    /// The id of a place.
    pub fn intern(&self, key: ContentionKey) -> ContentionId {
        ContentionId(self.0.intern(&key, || Entry {
            key,
            count: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }))
    }

    /// A thread has got what it had to wait for, for so many nanoseconds.
    pub fn add(&self, id: ContentionId, nanos: u64) {
        let entry = self.0.get(id.0);
        entry.nanos.fetch_add(nanos, Ordering::Relaxed);
        entry.count.fetch_add(1, Ordering::Relaxed);
    }

    /// What has been added since it was reset; places where there was nothing are left out.
    pub fn costs(&self, totals: Totals) -> Vec<(ContentionKey, Contended)> {
        let costs = self.0.iter().map(|(_, entry)| {
            let contended = Contended {
                count: totals.read(&entry.count),
                nanos: totals.read(&entry.nanos),
            };
            (entry.key, contended)
        });
        costs
            .filter(|(_, contended)| *contended != Contended::default())
            .collect()
    }
}

/// All threads, and all monitors that they want or wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MonitorStates {
    /// The threads, by their numbers.
    pub threads: Vec<ThreadState>,
    /// The monitors.
    pub monitors: Vec<MonitorState>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread.
    pub thread: ThreadSerial,
    /// Its name; empty where it has none.
    pub name: String,
    /// What it is at.
    pub trace: TraceId,
    /// Whether it runs.
    pub status: ThreadStatus,
    /// It has been suspended.
    pub suspended: bool,
    /// It has been interrupted and has not seen it yet.
    pub interrupted: bool,
    /// It runs native code.
    pub in_native: bool,
}

/// Whether a thread runs, and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// It runs, or could.
    Runnable,
    /// In `Thread.sleep`.
    Sleeping,
    /// It wants a monitor.
    Entering,
    /// It waits to be notified, or is parked.
    Waiting,
    /// It has ended.
    Ended,
    /// It has not started.
    NotStarted,
    /// None of these.
    Unknown,
}

/// A monitor. [`ThreadSerial::UNKNOWN`] stands for a thread that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorState {
    /// The signature of its class, `Ljava/lang/Object;`.
    pub signature: String,
    /// Who has it, and how many times it was entered.
    pub owner: Option<(ThreadSerial, u32)>,
    /// Who wants it.
    pub entering: Vec<ThreadSerial>,
    /// Who waits to be notified.
    pub waiting: Vec<ThreadSerial>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_by_place_and_are_taken_once() {
        let contentions = Contentions::default();
        let key = |class| ContentionKey {
            trace: TraceId::EMPTY,
            class: ClassId(class),
        };
        let (first, second) = (contentions.intern(key(1)), contentions.intern(key(2)));
        contentions.intern(key(3));
        assert_eq!(contentions.intern(key(1)), first);
        contentions.add(first, 5);
        contentions.add(second, 7);
        contentions.add(first, 6);
        let contended = |count, nanos| Contended { count, nanos };
        assert_eq!(
            contentions.costs(Totals::Kept),
            [(key(1), contended(2, 11)), (key(2), contended(1, 7))]
        );
        assert_eq!(contentions.costs(Totals::Reset).len(), 2);
        assert_eq!(contentions.costs(Totals::Reset), []);
        contentions.add(second, 1);
        assert_eq!(
            contentions.costs(Totals::Reset),
            [(key(2), contended(1, 1))]
        );
    }
}
