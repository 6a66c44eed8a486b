//! CPU SAMPLES: the traces by their cost.

use std::borrow::Cow;

use hprof_format::{CpuSample, CpuSamplesRecord, Record};

use super::counts::Samples;
use crate::names::trace::TraceId;
use crate::output::Journal;
use crate::output::serials;

/// Writes the samples. Rows below `cutoff`, a share of all samples, are omitted.
pub(super) fn cpu_samples(journal: &Journal, samples: Samples, cutoff: f64) {
    journal.entry(|entry| {
        let (total, rows) = rows(samples, cutoff);
        for &(trace, _) in &rows {
            entry.trace(trace);
        }
        let rows = rows.iter().map(|&(trace, count)| CpuSample {
            count: saturated(count),
            trace: serials::trace(trace),
        });
        entry.records.write(&Record::CpuSamples(CpuSamplesRecord {
            total: saturated(total),
            rows: Cow::Owned(rows.collect()),
        }));
    });
}

/// Returns the total, and the rows above the cutoff: the costliest first, equal ones in the order in which they were
/// first seen.
fn rows(samples: Samples, cutoff: f64) -> (u64, Vec<(TraceId, u64)>) {
    let mut rows: Vec<(TraceId, u64)> = samples
        .into_iter()
        .filter(|&(_, count)| count > 0)
        .collect();
    let total: u64 = rows.iter().map(|&(_, count)| count).sum();
    rows.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
    let end = rows.partition_point(|&(_, count)| count as f64 / total as f64 >= cutoff);
    rows.truncate(end);
    (total, rows)
}

/// Limits a count to 32 bits, the size of the fields: a year at 100 samples a second fits, and anything more must not
/// wrap.
fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::thread::ThreadSerial;
    use crate::names::trace::{TraceKey, Traces};

    #[test]
    fn rows_go_by_cost_and_are_cut_at_the_first_below_the_cutoff() {
        let traces = Traces::default();
        let ids = [1, 2, 3, 4, 5, 6].map(|thread| {
            traces.intern(TraceKey {
                thread: Some(ThreadSerial(thread)),
                frames: &[],
            })
        });
        let samples = ids.into_iter().zip([10, 0, 70, 10, 9, 1]).collect();
        let (total, rows) = rows(samples, 0.1);
        assert_eq!(total, 100, "what is cut off counts");
        assert_eq!(rows, [(ids[2], 70), (ids[0], 10), (ids[3], 10)]);
    }
}
