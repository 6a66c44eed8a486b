//! The samples of waits for locks, and the section LOCK WAITS.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::FixedState;
use hprof_format::{LockWait, LockWaits, Section};

use crate::engines::Totals;
use crate::lock_order::{Mutex, rank};
use crate::memory;
use crate::names::class::ClassId;
use crate::names::trace::TraceId;
use crate::output::{Journal, serials};

/// Halves of samples by waiting stack, holder and lock.
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
    /// Adds halves of samples.
    pub(super) fn add(&self, key: LockWaitKey, halves: u64) {
        let mut table = self.0.lock();
        memory::need_to_hash(
            table.len(),
            table.capacity(),
            size_of::<(LockWaitKey, u64)>(),
        );
        *table.entry(key).or_default() += halves;
    }

    /// Returns the halves of samples since the last reset.
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

/// The rows of the section, and the sums of all, including those omitted.
struct LockWaitSelection {
    total: u64,
    /// The samples with a holder.
    known: u64,
    rows: Vec<(LockWaitKey, u64)>,
}

/// Returns the rows above the cutoff, a share of all samples: those with most samples first.
fn select(halves: Samples, cutoff: f64) -> LockWaitSelection {
    let samples = halves
        .into_iter()
        .map(|(key, halves)| (key, halves.div_ceil(2)));
    let mut rows: Vec<(LockWaitKey, u64)> = samples.collect();
    rows.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
    let (mut total, mut known) = (0_u64, 0_u64);
    for &(key, count) in &rows {
        total = total.saturating_add(count);
        known = known.saturating_add(key.holder.map_or(0, |_| count));
    }
    let end = rows.partition_point(|&(_, count)| count as f64 >= cutoff * total as f64);
    rows.truncate(end);
    LockWaitSelection { total, known, rows }
}

/// Writes the section. Rows below `cutoff`, a share of all samples, are omitted.
pub(super) fn write(journal: &Journal, halves: Samples, interval: Duration, cutoff: f64) {
    let LockWaitSelection { total, known, rows } = select(halves, cutoff);
    journal.entry(|entry| {
        for (key, _) in &rows {
            entry.trace(key.trace);
            if let Some(holder) = key.holder {
                entry.trace(holder);
            }
            entry.class(key.class);
        }
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
            known,
            rows: rows.collect(),
        };
        entry.section(&Section::LockWaits(waits));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Tables;

    #[test]
    fn halves_become_rows_of_samples_of_which_some_have_a_holder() {
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
        let LockWaitSelection { total, known, rows } = select(samples, 0.1);
        assert_eq!((total, known), (61, 50), "what is cut off counts");
        let holder = Some(TraceId::EMPTY);
        let expected = [
            (key(holder, Some(7)), 30),
            (key(holder, None), 20),
            (key(None, Some(7)), 10),
        ];
        assert_eq!(rows, expected);
    }
}
