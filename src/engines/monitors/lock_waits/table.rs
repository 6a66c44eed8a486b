//! The samples of waits for locks, and the sections LOCK WAITS and SAMPLE TIMES.

use std::time::{Duration, Instant};

use hprof_format::{LockWait, LockWaits, Section, TimedLock, TimedSection, TraceSerial};

use crate::engines::Totals;
use crate::engines::sample_times::{TimedKey, Times, TimesSection};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::class::ClassId;
use names::trace::TraceId;
use output::{Entry, Journal, serials};

/// Halves of samples by waiting stack, holder and lock.
pub(super) struct LockTable(Mutex<LockSamples, rank::LockWaits>);

/// The halves of samples, and their times.
pub(super) struct LockSamples {
    halves: Samples,
    times: Times<LockWaitKey>,
}

type Samples = Map<LockWaitKey, u64>;

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

impl TimedKey for LockWaitKey {
    fn numbers(self) -> [[u64; 2]; 2] {
        // What is not known comes first.
        let holder = self.holder.map_or(0, |trace| u64::from(trace.index()) + 1);
        let identity = self.identity.map_or(0, |identity| u64::from(identity) + 1);
        [
            [self.trace.index().into(), holder],
            [self.class.index().into(), identity],
        ]
    }

    fn write_names(self, entry: &mut Entry<'_>) {
        entry.trace(self.trace);
        if let Some(holder) = self.holder {
            entry.trace(holder);
        }
        entry.class(self.class);
    }

    fn row(self) -> (TraceSerial, Option<TimedLock>) {
        let lock = TimedLock {
            holder: self.holder.map(serials::trace),
            class: serials::class(self.class),
            identity: self.identity,
        };
        (serials::trace(self.trace), Some(lock))
    }
}

impl LockTable {
    /// Creates an empty table, with times if they are kept.
    pub(super) fn new(keeps_times: bool) -> Self {
        Self(Mutex::new(LockSamples {
            halves: Samples::default(),
            times: Times::new(keeps_times),
        }))
    }

    /// Adds halves of samples that were taken over a period.
    pub(super) fn add(&self, key: LockWaitKey, halves: u64, period: [Instant; 2]) {
        let mut table = self.0.lock();
        let LockSamples {
            halves: sums,
            times,
        } = &mut *table;
        *sums.get_or_default(key).or_stop() += halves;
        times.add_over(key, halves, period, sums.len());
    }

    /// Returns the halves of samples since the last reset.
    pub(super) fn samples(&self, totals: Totals) -> LockSamples {
        let mut table = self.0.lock();
        if totals.start_anew() {
            return LockSamples {
                halves: std::mem::take(&mut table.halves),
                times: table.times.take(),
            };
        }
        LockSamples {
            halves: table.halves.try_clone().or_stop(),
            times: table.times.get(),
        }
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
    let mut rows = List::collect(samples).or_stop().into_vec();
    memory::sort_by_numbers(&mut rows, |(key, _)| key.numbers()[1]);
    memory::sort_by_numbers(&mut rows, |(key, _)| key.numbers()[0]);
    memory::sort_by_numbers(&mut rows, |&(_, count)| [!count, 0]);
    let (mut total, mut known) = (0_u64, 0_u64);
    for &(key, count) in &rows {
        total = total.saturating_add(count);
        known = known.saturating_add(key.holder.map_or(0, |_| count));
    }
    let end = rows.partition_point(|&(_, count)| count as f64 >= cutoff * total as f64);
    rows.truncate(end);
    LockWaitSelection { total, known, rows }
}

/// The sections, without their rows.
pub(super) struct LockSections {
    pub(super) interval: Duration,
    /// Rows below this share of all samples are omitted.
    pub(super) cutoff: f64,
    /// `true` if there is little room.
    pub(super) is_snapshot: bool,
}

impl LockSections {
    /// Writes the sections.
    pub(super) fn write(self, journal: &Journal, samples: LockSamples) {
        let LockWaitSelection { total, known, rows } = select(samples.halves, self.cutoff);
        journal.entry(|entry| {
            for &(key, _) in &rows {
                key.write_names(entry);
            }
            let lock_waits = rows.iter().map(|&(key, count)| LockWait {
                count,
                trace: serials::trace(key.trace),
                holder: key.holder.map(serials::trace),
                class: serials::class(key.class),
                identity: key.identity,
            });
            let waits = LockWaits {
                total,
                interval: u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX),
                known,
                rows: lock_waits.collect(),
            };
            entry.section(&Section::LockWaits(waits));
            let section = TimesSection {
                of: TimedSection::LockWaits,
                sample: self.interval / 2,
                is_snapshot: self.is_snapshot,
            };
            let rows = rows.iter().map(|&(key, _)| key);
            section.write(entry, samples.times, rows, |_| None);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::Tables;

    #[test]
    fn halves_become_rows_of_samples_of_which_some_have_a_holder() {
        let tables = Tables::default();
        let name = tables.strings.intern("Desk");
        let loader = tables.loaders.add();
        let class = tables.classes.intern(loader, name, || tables.objects.add());
        let table = LockTable::new(true);
        let period = [Instant::now(); 2];
        let key = |holder, identity| LockWaitKey {
            trace: TraceId::EMPTY,
            holder,
            class: class.id(),
            identity,
        };
        table.add(key(None, Some(7)), 20, period);
        table.add(key(Some(TraceId::EMPTY), None), 40, period);
        table.add(key(Some(TraceId::EMPTY), Some(7)), 30, period);
        table.add(key(Some(TraceId::EMPTY), Some(7)), 30, period);
        table.add(key(None, None), 1, period);
        let samples = table.samples(Totals::Keep).halves;
        assert_eq!(*samples, *table.samples(Totals::Reset).halves);
        assert!(table.samples(Totals::Reset).halves.is_empty());
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
