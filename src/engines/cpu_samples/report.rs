//! CPU SAMPLES: the traces by their cost; and SAMPLE TIMES.

use std::borrow::Cow;
use std::time::Duration;

use hprof_format::{CpuSample, CpuSamplesRecord, Record, TimedSection};
use memory::{List, OrStop};

use super::counts::{CountedSamples, Samples};
use crate::engines::folding::{Fold, FoldedRows, Row, is_small};
use crate::engines::sample_times::TimesSection;
use names::frame::FrameId;
use names::trace::{TraceId, Traces};
use output::{Journal, serials};

/// The section, without its rows.
pub(super) struct Section {
    pub(super) interval: Duration,
    /// Rows below this share of all samples are omitted, or with `folded` added up.
    pub(super) cutoff: f64,
    pub(super) folded: Option<FrameId>,
    /// `true` if there is little room.
    pub(super) is_snapshot: bool,
}

impl Section {
    /// Writes the samples, and their times.
    pub(super) fn write(self, journal: &Journal, counted: CountedSamples) {
        let CountedSamples { samples, times } = counted;
        journal.entry(|entry| {
            let traces = &entry.tables.traces;
            let Selected {
                total,
                rows,
                folded,
            } = selected(samples, self.cutoff, self.folded, traces);
            for &(trace, _) in &rows {
                entry.trace(trace);
            }
            let cpu_samples = rows.iter().map(|&(trace, count)| CpuSample {
                count: saturated(count),
                trace: serials::trace(trace),
            });
            entry.records.write(&Record::CpuSamples(CpuSamplesRecord {
                total: saturated(total),
                rows: Cow::Owned(cpu_samples.collect()),
            }));
            let section = TimesSection {
                of: TimedSection::CpuSamples,
                sample: self.interval,
                is_snapshot: self.is_snapshot,
            };
            let rows = rows.iter().map(|&(trace, _)| trace);
            section.write(entry, times, rows, |trace| {
                folded.as_ref()?.row(trace, traces)
            });
        });
    }
}

/// The rows to write.
pub(in crate::engines) struct Selected {
    /// The total of all samples.
    pub(in crate::engines) total: u64,
    /// The costliest first.
    pub(in crate::engines) rows: Vec<(TraceId, u64)>,
    /// Those to which small ones were added.
    pub(in crate::engines) folded: Option<FoldedRows>,
}

/// Returns the rows to write. Those below `cutoff`, a share of all samples, are omitted, or with `folded` added up.
pub(in crate::engines) fn selected(
    samples: Samples,
    cutoff: f64,
    folded: Option<FrameId>,
    traces: &Traces,
) -> Selected {
    match folded {
        Some(folded) => folded_rows(samples, cutoff, folded, traces),
        None => {
            let (total, rows) = rows(samples, cutoff);
            Selected {
                total,
                rows,
                folded: None,
            }
        }
    }
}

/// Returns the total, and the rows above the cutoff: the costliest first, equal ones in the order in which they were
/// first seen.
fn rows(samples: Samples, cutoff: f64) -> (u64, Vec<(TraceId, u64)>) {
    let rows = samples.into_iter().filter(|&(_, count)| count > 0);
    let mut rows = List::collect(rows).or_stop().into_vec();
    let total: u64 = rows.iter().map(|&(_, count)| count).sum();
    memory::sort_by_numbers(&mut rows, |&(trace, count)| [!count, trace.index().into()]);
    let end = rows.partition_point(|&(_, count)| count as f64 / total as f64 >= cutoff);
    rows.truncate(end);
    (total, rows)
}

/// Returns all rows, of which those below the cutoff are added up under shorter stacks.
fn folded_rows(samples: Samples, cutoff: f64, folded: FrameId, traces: &Traces) -> Selected {
    let (total, all) = rows(samples, 0.0);
    let (small, mut rows): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|&(_, count)| is_small(&[count], &[total], cutoff));
    let small = small.into_iter().map(|(trace, count)| Row {
        class: None,
        trace,
        values: [count],
    });
    let rule = Fold {
        totals: [total],
        cutoff,
        folded,
    };
    let sums = rule.rows(small.collect(), traces);
    rows.extend(sums.iter().map(|row| (row.trace, row.values[0])));
    memory::sort_by_numbers(&mut rows, |&(trace, count)| [!count, trace.index().into()]);
    Selected {
        total,
        rows,
        folded: Some(FoldedRows::new(sums.iter().map(|row| row.trace), traces)),
    }
}

/// Limits a count to 32 bits, the size of the fields: a year at 100 samples a second fits, and anything more must not
/// wrap.
fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::thread::ThreadSerial;
    use names::trace::{TraceKey, Traces};

    #[test]
    fn what_is_folded_is_in_its_place_among_the_others() {
        let traces = Traces::default();
        let trace = |numbers: &[u32]| {
            let frames: Vec<FrameId> = numbers
                .iter()
                .map(|&number| FrameId::numbered(number))
                .collect();
            traces.intern(TraceKey {
                thread: None,
                frames: &frames,
            })
        };
        let [large, one, two] = [trace(&[1, 2]), trace(&[1, 3]), trace(&[1, 4])];
        let samples = || {
            let samples = [(large, 12), (one, 9), (two, 9), (trace(&[5]), 70)];
            Samples::collect(samples).expect("little")
        };
        let found = folded_rows(samples(), 0.1, FrameId::numbered(9), &traces);
        assert_eq!(found.total, 100);
        let expected = [(trace(&[5]), 70), (trace(&[1, 9]), 18), (large, 12)];
        assert_eq!(found.rows, expected);
        let found = folded_rows(samples(), 0.0, FrameId::numbered(9), &traces);
        assert_eq!(found.rows.len(), 4, "nothing is small");
    }

    #[test]
    fn rows_go_by_cost_and_are_cut_at_the_first_below_the_cutoff() {
        let traces = Traces::default();
        let ids = [1, 2, 3, 4, 5, 6].map(|thread| {
            traces.intern(TraceKey {
                thread: Some(ThreadSerial(thread)),
                frames: &[],
            })
        });
        let samples = ids.into_iter().zip([10, 0, 70, 10, 9, 1]);
        let samples = Samples::collect(samples).expect("little");
        let (total, rows) = rows(samples, 0.1);
        assert_eq!(total, 100, "what is cut off counts");
        assert_eq!(rows, [(ids[2], 70), (ids[0], 10), (ids[3], 10)]);
    }
}
