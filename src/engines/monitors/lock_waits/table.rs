//! The samples of waits for locks, and the section LOCK WAITS.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::FixedState;
use hprof_format::{LockWait, LockWaits};

use crate::engines::Totals;
use crate::lock_order::{Mutex, rank};
use crate::memory;
use crate::names::class::ClassId;
use crate::names::trace::TraceId;
use crate::output::{Journal, serials};

/// The line before the section.
const HOW: &str = "LOCK WAITS have the threads that waited for monitors (synchronized) and, on platform threads, for locks of java.util.concurrent, from samples: the holder is the thread that had the lock then";

/// Samples by waiting stack, holder and lock.
#[derive(Default)]
pub(super) struct LockTable(Mutex<Samples, rank::LockWaits>);

pub(super) type Samples = HashMap<LockWaitKey, u64, FixedState>;

/// The values that identify a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LockWaitKey {
    /// The stack of the waiting threads.
    pub(super) trace: TraceId,
    /// The stack of the holder; `None` if it is not known.
    pub(super) holder: Option<TraceId>,
    /// The class of the lock.
    pub(super) class: ClassId,
    /// The lock; `None` for all that are not told apart.
    pub(super) identity: Option<u32>,
}

impl LockTable {
    pub(super) fn add(&self, key: LockWaitKey, samples: u64) {
        let mut table = self.0.lock();
        memory::need_to_hash(
            table.len(),
            table.capacity(),
            size_of::<(LockWaitKey, u64)>(),
        );
        *table.entry(key).or_default() += samples;
    }

    /// Returns the samples since the last reset.
    pub(super) fn samples(&self, totals: Totals) -> Samples {
        let mut table = self.0.lock();
        if totals.start_anew() {
            return std::mem::take(&mut table);
        }
        // The memory for the copy, and for the rows made from it.
        memory::need(table.capacity() * 4 * size_of::<(LockWaitKey, u64)>());
        table.clone()
    }
}

/// Writes the section. Rows below `cutoff`, a share of all samples, are omitted.
pub(super) fn write(journal: &Journal, samples: Samples, interval: Duration, cutoff: f64) {
    let sum = |rows: &[(LockWaitKey, u64)]| {
        let counts = rows.iter().map(|&(_, count)| count);
        counts.fold(0, u64::saturating_add)
    };
    let mut rows: Vec<(LockWaitKey, u64)> = samples.into_iter().collect();
    rows.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
    let total = sum(&rows);
    let (known, _): (Vec<_>, Vec<_>) = rows.iter().partition(|(key, _)| key.holder.is_some());
    let end = rows.partition_point(|&(_, count)| count as f64 >= cutoff * total as f64);
    rows.truncate(end);
    journal.entry(|entry| {
        for (key, _) in &rows {
            entry.trace(key.trace);
            if let Some(holder) = key.holder {
                entry.trace(holder);
            }
            entry.class(key.class);
        }
        entry.note(HOW);
        let rows = rows.iter().map(|&(key, count)| LockWait {
            count,
            trace: serials::trace(key.trace),
            holder: key.holder.map(serials::trace),
            class: serials::class(key.class),
            identity: key.identity,
        });
        let waits = LockWaits {
            total,
            interval: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            known: sum(&known),
            rows: rows.collect(),
        };
        entry.note(&waits.note());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Tables;
    use crate::output::tests::lines;

    #[test]
    fn rows_go_by_samples_and_say_how_many_have_a_holder() {
        let tables = Tables::default();
        let name = tables.strings.intern("Desk");
        let loader = tables.loaders.add();
        let class = tables.classes.intern(loader, name, || tables.objects.add());
        let table = LockTable::default();
        let key = |holder, identity| LockWaitKey {
            trace: TraceId::EMPTY,
            holder,
            class: class.id(),
            identity,
        };
        table.add(key(None, Some(7)), 20);
        table.add(key(Some(TraceId::EMPTY), None), 40);
        table.add(key(Some(TraceId::EMPTY), Some(7)), 30);
        table.add(key(Some(TraceId::EMPTY), Some(7)), 30);
        table.add(key(None, None), 1);
        let samples = table.samples(Totals::Keep);
        assert_eq!(samples, table.samples(Totals::Reset));
        assert!(table.samples(Totals::Reset).is_empty());
        let mut rows: Vec<(LockWaitKey, u64)> = samples.into_iter().collect();
        rows.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
        assert_eq!(rows[0], (key(Some(TraceId::EMPTY), Some(7)), 60));
        assert_eq!(rows.len(), 4);
    }
}
