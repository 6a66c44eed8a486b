//! How many samples each trace has been charged with.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::lock_order::{Mutex, rank};
use crate::memory;
use crate::names::trace::TraceId;

/// Samples by trace.
#[derive(Default)]
pub(super) struct SampleCounts(Mutex<Samples, rank::SampleCounts>);

/// What a report is made of.
pub(super) type Samples = HashMap<TraceId, u64, FixedState>;

impl SampleCounts {
    /// Charges samples to a trace.
    pub(super) fn add(&self, trace: TraceId, samples: u64) {
        let mut counts = self.0.lock();
        memory::need_to_hash(counts.len(), counts.capacity(), size_of::<(TraceId, u64)>());
        *counts.entry(trace).or_default() += samples;
    }

    /// What has been counted since it was taken last.
    pub(super) fn get(&self) -> Samples {
        let counts = self.0.lock();
        // The copy, and the rows that are made of it.
        memory::need(counts.capacity() * 4 * size_of::<(TraceId, u64)>());
        counts.clone()
    }

    /// As [`SampleCounts::get`], and counts from nothing.
    pub(super) fn take(&self) -> Samples {
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
