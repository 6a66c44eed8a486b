//! The number of samples charged to each trace, and their times.

use std::time::Instant;

use hprof_format::{TimedLock, TraceSerial};
use memory::{Map, OrStop};

use crate::engines::sample_times::{TimedKey, Times};
use locks::{Mutex, rank};
use names::trace::TraceId;
use output::{Entry, serials};

/// Samples by trace.
pub(in crate::engines) struct SampleCounts(Mutex<CountedSamples, rank::SampleCounts>);

/// The counts from which a report is made.
pub(in crate::engines) type Samples = Map<TraceId, u64>;

/// The counts, and the times of the samples.
pub(in crate::engines) struct CountedSamples {
    pub(in crate::engines) samples: Samples,
    pub(in crate::engines) times: Times<TraceId>,
}

impl TimedKey for TraceId {
    fn numbers(self) -> [[u64; 2]; 2] {
        [[self.index().into(), 0], [0, 0]]
    }

    fn write_names(self, entry: &mut Entry<'_>) {
        entry.trace(self);
    }

    fn row(self) -> (TraceSerial, Option<TimedLock>) {
        (serials::trace(self), None)
    }
}

impl CountedSamples {
    /// Returns the samples of a run without any.
    pub(in crate::engines) fn none() -> Self {
        Self {
            samples: Samples::default(),
            times: Times::new(false),
        }
    }

    fn add(&mut self, trace: TraceId, samples: u64) {
        *self.samples.get_or_default(trace).or_stop() += samples;
    }
}

impl SampleCounts {
    /// Creates empty counts, with times if they are kept.
    pub(in crate::engines) fn new(keeps_times: bool) -> Self {
        Self(Mutex::new(CountedSamples {
            samples: Samples::default(),
            times: Times::new(keeps_times),
        }))
    }

    /// Charges samples that were taken just now to a trace.
    pub(in crate::engines) fn add(&self, trace: TraceId, samples: u64) {
        let mut counts = self.0.lock();
        counts.add(trace, samples);
        let stacks = counts.samples.len();
        counts.times.add(trace, samples, stacks);
    }

    /// Charges samples that were taken over a period to a trace.
    pub(in crate::engines) fn add_over(&self, trace: TraceId, samples: u64, period: [Instant; 2]) {
        let mut counts = self.0.lock();
        counts.add(trace, samples);
        let stacks = counts.samples.len();
        counts.times.add_over(trace, samples, period, stacks);
    }

    /// Returns the counts since they were last taken.
    pub(in crate::engines) fn get(&self) -> CountedSamples {
        let counts = self.0.lock();
        CountedSamples {
            samples: counts.samples.try_clone().or_stop(),
            times: counts.times.get(),
        }
    }

    /// As [`SampleCounts::get`], and resets the counts.
    pub(in crate::engines) fn take(&self) -> CountedSamples {
        let mut counts = self.0.lock();
        CountedSamples {
            samples: std::mem::take(&mut counts.samples),
            times: counts.times.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_add_up_and_are_taken_once() {
        let counts = SampleCounts::new(true);
        counts.add(TraceId::EMPTY, 2);
        counts.add(TraceId::EMPTY, 3);
        assert_eq!(counts.get().samples.get(&TraceId::EMPTY), Some(&5));
        assert_eq!(counts.take().samples.get(&TraceId::EMPTY), Some(&5));
        assert_eq!(counts.get().samples.len(), 0);
    }
}
