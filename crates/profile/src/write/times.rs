//! Writes SAMPLE TIMES. Elapsed time is in samples of one millisecond, as in the sections that have the sums.

use std::io::{self, Write};
use std::time::Duration;

use hprof_format::{Millis, SampleTimes, Section, StepCount, TimedLock, TimedRow, TimedSection};

use super::{Form, Writer, holder_labels};
use crate::metric::Metric;
use crate::model::{LabelsId, Timeline};
use crate::records::NANOS_PER_MILLI;

impl<W: Write> Writer<'_, W> {
    /// Writes when the samples of a metric were taken, if that is known and the form of the file has it.
    pub(super) fn times(&mut self, metric: Metric) -> io::Result<()> {
        let timeline = self.profile.timeline(metric);
        let Some(timeline) = timeline.filter(|_| self.form == Form::Binary) else {
            return Ok(());
        };
        let a_milli = Duration::from_millis(1);
        let (of, sample) = match metric {
            Metric::Cpu => (
                TimedSection::CpuSamples,
                self.profile.interval().unwrap_or(a_milli),
            ),
            Metric::Wall => (TimedSection::WallSamples, a_milli),
            Metric::LockWait => (TimedSection::LockWaits, a_milli),
            _ => return Ok(()),
        };
        let mut rows = self.timed_rows(timeline)?;
        rows.sort_by_key(|row| row.trace.0);
        self.section(&Section::SampleTimes(SampleTimes {
            of,
            sample,
            begin: Millis(timeline.begin),
            millis: timeline.millis,
            step: timeline.step,
            rows,
        }))
    }

    fn timed_rows(&mut self, timeline: &Timeline) -> io::Result<Vec<TimedRow>> {
        let sample = match timeline.metric {
            Metric::Cpu => 1,
            _ => NANOS_PER_MILLI,
        };
        let mut rows = Vec::with_capacity(timeline.rows.len());
        for row in &timeline.rows {
            let lock = match timeline.metric {
                Metric::LockWait => Some(self.timed_lock(row.labels)?),
                _ => None,
            };
            let counts = row.values.iter().map(|&(step, value)| StepCount {
                step,
                count: value / sample,
            });
            rows.push(TimedRow {
                trace: self.trace_serial(row.stack, row.labels),
                lock,
                counts: counts.filter(|count| count.count > 0).collect(),
            });
        }
        Ok(rows)
    }

    /// Returns the lock that labels name.
    pub(super) fn timed_lock(&mut self, labels: LabelsId) -> io::Result<TimedLock> {
        let of_row = *self.profile.labels(labels);
        let holder = of_row.holder.and_then(|holder| {
            let trace = self.traces.get(&(holder, holder_labels(&of_row)));
            trace.copied()
        });
        let lock = of_row.lock.map(|lock| self.profile.names.text(lock));
        let identity = lock.and_then(|lock| lock.rsplit_once('@'));
        Ok(TimedLock {
            holder,
            class: self.class_of(labels)?,
            identity: identity.and_then(|(_, hash)| u32::from_str_radix(hash, 16).ok()),
        })
    }
}
