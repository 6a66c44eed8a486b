//! SAMPLE TIMES.

use hprof_format::{SampleTimes, TimedRow, TimedSection};

use super::{CPU, LOCKS, Records, WALL};
use crate::markers::NOT_LISTED;
use crate::model::{LabelsId, StackId, Timeline, TimelineRow};

impl Records {
    pub(super) fn sample_times(&mut self, times: &SampleTimes) {
        let metrics = match times.of {
            TimedSection::CpuSamples => &CPU,
            TimedSection::WallSamples => &WALL,
            TimedSection::LockWaits => &LOCKS,
        };
        if !self.is_wanted(metrics) {
            return;
        }
        let sample = match times.of {
            TimedSection::CpuSamples => 1,
            TimedSection::WallSamples | TimedSection::LockWaits => {
                u64::try_from(times.sample.as_nanos()).unwrap_or(u64::MAX)
            }
        };
        let mut stackless = None;
        let mut rows = Vec::with_capacity(times.rows.len());
        for row in &times.rows {
            let (mut stack, labels) = self.timed_key(row);
            if self.profile.stacks.frames(stack).is_empty() {
                stack = *stackless.get_or_insert_with(|| self.stackless(metrics));
            }
            let values = row.counts.iter();
            let values = values.map(|count| (count.step, count.count.saturating_mul(sample)));
            rows.push(TimelineRow {
                stack,
                labels,
                values: values.collect(),
            });
        }
        let [metric] = *metrics;
        let timelines = &mut self.profile.timelines;
        timelines.retain(|timeline| timeline.metric != metric);
        timelines.push(Timeline {
            metric,
            begin: times.begin.0,
            millis: times.millis,
            step: times.step,
            rows,
        });
    }

    fn timed_key(&mut self, row: &TimedRow) -> (StackId, LabelsId) {
        if row.trace.0 == 0 {
            let frame = self.profile.marker(NOT_LISTED);
            let stack = self.profile.stacks.push([frame]);
            return (stack, self.profile.intern_labels(self.file_labels()));
        }
        match row.lock {
            Some(lock) => self.lock_key(row.trace, lock),
            None => self.row_key(row.trace, None),
        }
    }
}
