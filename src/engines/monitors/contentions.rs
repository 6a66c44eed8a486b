//! The time that threads lost to contention for monitors, by stack and class of the monitor.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::Equivalent;

use crate::engines::Totals;
use names::class::ClassId;
use names::intern::Interner;
use names::trace::TraceId;

/// The id of a stack and a class of monitors that threads contend for there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionId(u32);

/// The values that identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentionKey {
    /// The stack.
    pub trace: TraceId,
    /// The class of the monitors.
    pub class: ClassId,
}

/// The cost of contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contended {
    /// The number of times a thread had to wait.
    pub count: u64,
    /// The total time, in nanoseconds.
    pub nanos: u64,
}

/// The table of contention.
#[derive(Default)]
pub struct Contentions(Interner<ContentionEntry>);

struct ContentionEntry {
    key: ContentionKey,
    count: AtomicU64,
    nanos: AtomicU64,
}

impl PartialEq for ContentionEntry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for ContentionEntry {}

impl Hash for ContentionEntry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl Equivalent<ContentionEntry> for ContentionKey {
    fn equivalent(&self, entry: &ContentionEntry) -> bool {
        *self == entry.key
    }
}

impl Contentions {
    /// Returns the id of a key, adding it if it is new.
    pub fn intern(&self, key: ContentionKey) -> ContentionId {
        ContentionId(self.0.intern(&key, || ContentionEntry {
            key,
            count: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }))
    }

    /// Returns the key of an id.
    pub fn key(&self, id: ContentionId) -> ContentionKey {
        self.0.get(id.0).key
    }

    /// Counts one acquisition that had to wait that many nanoseconds.
    pub fn add(&self, id: ContentionId, nanos: u64) {
        let entry = self.0.get(id.0);
        entry.nanos.fetch_add(nanos, Ordering::Relaxed);
        entry.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the costs since the last reset; entries without a cost are omitted.
    pub fn costs(&self, totals: Totals) -> Vec<(ContentionKey, Contended)> {
        let read = |counter: &AtomicU64| match totals.start_anew() {
            true => counter.swap(0, Ordering::Relaxed),
            false => counter.load(Ordering::Relaxed),
        };
        let costs = self.0.iter().map(|(_, entry)| {
            let contended = Contended {
                count: read(&entry.count),
                nanos: read(&entry.nanos),
            };
            (entry.key, contended)
        });
        costs
            .filter(|(_, contended)| *contended != Contended::default())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_by_place_until_they_are_reset() {
        let contentions = Contentions::default();
        let tables = names::Tables::default();
        let classes = ["a", "b", "c"].map(|name| {
            let name = tables.strings.intern(name);
            let loader = tables.loaders.add();
            let class = tables.classes.intern(loader, name, || tables.objects.add());
            class.id()
        });
        let key = |class: usize| ContentionKey {
            trace: TraceId::EMPTY,
            class: classes[class - 1],
        };
        let (first, second) = (contentions.intern(key(1)), contentions.intern(key(2)));
        contentions.intern(key(3));
        assert_eq!(contentions.intern(key(1)), first);
        contentions.add(first, 5);
        contentions.add(second, 7);
        contentions.add(first, 6);
        let contended = |count, nanos| Contended { count, nanos };
        assert_eq!(
            contentions.costs(Totals::Keep),
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
