//! The number of samples charged to each trace.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::lock_order::{Mutex, rank};
use crate::memory;
use crate::names::trace::TraceId;

/// Samples by trace.
#[derive(Default)]
pub(in crate::engines) struct SampleCounts(Mutex<Samples, rank::SampleCounts>);

/// The counts from which a report is made.
pub(in crate::engines) type Samples = HashMap<TraceId, u64, FixedState>;

impl SampleCounts {
    /// Charges samples to a trace.
    pub(in crate::engines) fn add(&self, trace: TraceId, samples: u64) {
        let mut counts = self.0.lock();
        memory::need_to_hash(counts.len(), counts.capacity(), size_of::<(TraceId, u64)>());
        *counts.entry(trace).or_default() += samples;
    }

    /// Returns the counts since they were last taken.
    pub(in crate::engines) fn get(&self) -> Samples {
        let counts = self.0.lock();
        // The memory for the copy, and for the rows made from it.
        memory::need(counts.capacity() * 4 * size_of::<(TraceId, u64)>());
        counts.clone()
    }

    /// As [`SampleCounts::get`], and resets the counts.
    pub(in crate::engines) fn take(&self) -> Samples {
        std::mem::take(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_add_up_and_are_taken_once() {
        let counts = SampleCounts::default();
        counts.add(TraceId::EMPTY, 2);
        counts.add(TraceId::EMPTY, 3);
        assert_eq!(counts.get().get(&TraceId::EMPTY), Some(&5));
        assert_eq!(counts.take().get(&TraceId::EMPTY), Some(&5));
        assert_eq!(counts.get().len(), 0);
    }
}
