//! CPU SAMPLES: the traces by what they cost.

use std::borrow::Cow;

use hprof_format::{CpuSample, Record};

use crate::names::cost::Totals;
use crate::names::trace::{TraceId, Traces};
use crate::output::Journal;
use crate::output::serials;

/// Writes the samples. Rows below `cutoff`, a share of all samples, are left out.
pub fn cpu_samples(journal: &Journal, cutoff: f64, totals: Totals) {
    journal.entry(|entry| {
        let (total, rows) = rows(&entry.tables.traces, cutoff, totals);
        for &(trace, _) in &rows {
            entry.trace(trace);
        }
        let rows = rows.iter().map(|&(trace, count)| CpuSample {
            count: saturated(count),
            trace: serials::trace(trace),
        });
        entry.records.write(&Record::CpuSamples {
            total: saturated(total),
            rows: Cow::Owned(rows.collect()),
        });
    });
}

/// All samples, and the rows that are not cut off: the costliest first, equal ones in the order they were seen.
fn rows(traces: &Traces, cutoff: f64, totals: Totals) -> (u64, Vec<(TraceId, u64)>) {
    let mut rows: Vec<(TraceId, u64)> = traces
        .iter()
        .map(|(id, trace)| (id, trace.samples(totals)))
        .filter(|&(_, count)| count > 0)
        .collect();
    let total: u64 = rows.iter().map(|&(_, count)| count).sum();
    rows.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
    let end = rows.partition_point(|&(_, count)| count as f64 / total as f64 >= cutoff);
    rows.truncate(end);
    (total, rows)
}

/// The fields have 32 bits: a year at 100 samples a second does not fill them, and one that did must not wrap.
fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Tables;
    use crate::names::thread::ThreadSerial;
    use crate::names::trace::TraceKey;

    fn traces(samples: &[u64]) -> (Tables, Vec<TraceId>) {
        let tables = Tables::default();
        let ids = (1..).zip(samples).map(|(thread, &count)| {
            let id = tables.traces.intern(TraceKey {
                thread: Some(ThreadSerial(thread)),
                frames: &[],
            });
            tables.traces.add_samples(id, count);
            id
        });
        let ids = ids.collect();
        (tables, ids)
    }

    #[test]
    fn rows_go_by_cost_and_are_cut_at_the_first_below_the_cutoff() {
        let (tables, ids) = traces(&[10, 0, 70, 10, 9, 1]);
        let (total, rows) = rows(&tables.traces, 0.1, Totals::Reset);
        assert_eq!(total, 100, "what is cut off counts");
        assert_eq!(rows, [(ids[2], 70), (ids[0], 10), (ids[3], 10)]);
    }

    #[test]
    fn a_dump_after_a_reset_counts_from_nothing() {
        let (tables, ids) = traces(&[5]);
        let five = (5, vec![(ids[0], 5)]);
        assert_eq!(rows(&tables.traces, 0.0, Totals::Kept), five);
        assert_eq!(rows(&tables.traces, 0.0, Totals::Reset), five);
        assert_eq!(rows(&tables.traces, 0.0, Totals::Reset), (0, vec![]));
    }
}
