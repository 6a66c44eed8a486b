//! When samples were taken: of one dump of the run.

use std::collections::BTreeMap;

use hprof_format::{SampleTimes, TimedRow, TimedSection};

use crate::error::Error;
use crate::names::{NOT_LISTED, Names, nanos, signed};
use crate::output::Output;

/// The times of the wanted dump.
#[derive(Default)]
pub(crate) struct TimeRows {
    of: BTreeMap<TimedSection, SampleTimes>,
}

/// The samples of one stack in one step, as they are stored.
struct StoredTime {
    table: &'static str,
    trace: i64,
    class: Option<i64>,
    identity: Option<i64>,
    holder: Option<i64>,
    begin: i64,
    step: f64,
    samples: i64,
    nanos: i64,
}

impl TimeRows {
    pub(crate) fn take(&mut self, times: &SampleTimes) {
        self.of.insert(times.of, times.clone());
    }

    /// Forgets the times of an earlier dump, when a later one has samples.
    pub(crate) fn forget(&mut self, of: TimedSection) {
        self.of.remove(&of);
    }

    /// Writes the rows, ordered by trace and time.
    pub(crate) fn write(self, names: &mut Names, out: &mut Output) -> Result<(), Error> {
        let mut rows = Vec::new();
        for times in self.of.into_values() {
            stored(&times, names, out, &mut rows)?;
        }
        rows.sort_by_key(|row| (row.trace, row.begin));
        for row in rows {
            out.sample_time.row(|to| {
                to.text(row.table)
                    .long(row.trace)
                    .long(row.class)
                    .long(row.identity)
                    .long(row.holder)
                    .long(row.begin)
                    .real(Some(row.step))
                    .long(row.samples)
                    .long(row.nanos);
            })?;
        }
        Ok(())
    }
}

fn stored(
    times: &SampleTimes,
    names: &mut Names,
    out: &mut Output,
    rows: &mut Vec<StoredTime>,
) -> Result<(), Error> {
    let table = match times.of {
        TimedSection::CpuSamples => "cpu_sample",
        TimedSection::WallSamples => "wall_sample",
        TimedSection::LockWaits => "lock_wait",
    };
    let step = std::time::Duration::from_millis(times.step).as_secs_f64();
    for row in &times.rows {
        let trace = trace(row, names, out)?;
        let holder = row.lock.and_then(|lock| lock.holder);
        let holder = holder
            .map(|holder| names.trace_id(out, holder))
            .transpose()?;
        let class = row.lock.and_then(|lock| names.class_id(lock.class));
        let identity = row.lock.and_then(|lock| lock.identity);
        for count in &row.counts {
            let begin = times.step.saturating_mul(count.step.into());
            let samples = signed(count.count);
            rows.push(StoredTime {
                table,
                trace,
                class,
                identity: identity.map(i64::from),
                holder,
                begin: signed(times.begin.0.saturating_add(begin)),
                step,
                samples,
                nanos: nanos(samples, times.sample),
            });
        }
    }
    Ok(())
}

fn trace(row: &TimedRow, names: &mut Names, out: &mut Output) -> Result<i64, Error> {
    if row.trace.0 != 0 {
        return names.trace_id(out, row.trace);
    }
    let frame = names.marker(out, NOT_LISTED)?;
    names.new_trace(out, &[frame])
}
