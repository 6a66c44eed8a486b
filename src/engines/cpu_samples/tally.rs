//! Counts of the samples by what became of them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use jvmti::NoStack;

/// The outcome of the samples, in intervals.
#[derive(Default)]
pub(super) struct SampleTally {
    pub(super) samples: AtomicU64,
    pub(super) no_java: AtomicU64,
    /// In the order of [`NoStack::ALL`].
    pub(super) unwalkable: [AtomicU64; NoStack::ALL.len()],
    /// Samples of threads in the agent's own code.
    pub(super) in_agent: AtomicU64,
    pub(super) lost: AtomicU64,
    /// Samples whose stacks were fetched when the VM could no longer name them.
    pub(super) unnamed: AtomicU64,
}

impl fmt::Display for SampleTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let samples = count(&self.samples);
        let unwalkable: u64 = self.unwalkable.iter().map(count).sum();
        let share = 100.0 * unwalkable as f64 / samples.max(1) as f64;
        write!(
            out,
            "{samples} samples, {unwalkable} ({share:.1} %) without the Java frames that they had"
        )?;
        let reasons = self.unwalkable.iter().zip(NoStack::ALL);
        for (samples, reason) in reasons.filter(|(samples, _)| count(samples) > 0) {
            write!(out, " [{reason}: {}]", count(samples))?;
        }
        let (no_java, lost) = (count(&self.no_java), count(&self.lost));
        write!(out, ", {no_java} of threads that ran no Java, {lost} lost")?;
        match count(&self.unnamed) {
            0 => {}
            unnamed => write!(out, ", {unnamed} without names")?,
        }
        match count(&self.in_agent) {
            0 => Ok(()),
            in_agent => write!(out, ", {in_agent} of this agent's own time"),
        }
    }
}
