//! WALL SAMPLES: the stacks by the time that threads spent in them; and SAMPLE TIMES.

use std::time::Duration;

use hprof_format::{Section as FormatSection, TimedSection, WallSample, WallSamples};

use crate::engines::cpu_samples::counts::CountedSamples;
use crate::engines::cpu_samples::report::{Selected, selected};
use crate::engines::sample_times::TimesSection;
use names::frame::FrameId;
use output::{Journal, serials};

/// The line before the section in a VM that has virtual threads.
const ONLY_MOUNTED: &str =
    "WALL SAMPLES have a virtual thread while a carrier runs it, not while it waits unmounted";

/// The section, without its rows.
pub(super) struct Section {
    pub(super) interval: Duration,
    /// The number of threads that were sampled.
    pub(super) threads: u64,
    pub(super) has_virtual_threads: bool,
    /// Rows below this share of all samples are omitted, or with `folded` added up.
    pub(super) cutoff: f64,
    pub(super) folded: Option<FrameId>,
    /// `true` if there is little room.
    pub(super) is_snapshot: bool,
}

impl Section {
    /// Writes the section, and the times of its samples.
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
            if self.has_virtual_threads {
                entry.note(ONLY_MOUNTED);
            }
            let wall_samples = rows.iter().map(|&(trace, count)| WallSample {
                count,
                trace: serials::trace(trace),
            });
            let samples = WallSamples {
                total,
                interval: u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX),
                threads: Some(self.threads),
                rows: wall_samples.collect(),
            };
            entry.section(&FormatSection::WallSamples(samples));
            let section = TimesSection {
                of: TimedSection::WallSamples,
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
