//! Writes CPU SAMPLES, and WALL SAMPLES, whose time is in samples of one millisecond.

use std::io::{self, Write};

use hprof_format::{CpuSample, CpuSamplesRecord, Record, Section, WallSample, WallSamples};

use super::Writer;
use super::rows::{saturated, split};
use crate::model::Table;
use crate::records::NANOS_PER_MILLI;

impl<W: Write> Writer<'_, W> {
    pub(super) fn cpu_samples(&mut self, table: &Table) -> io::Result<()> {
        let mut rows = Vec::with_capacity(table.len());
        let mut total = 0_u64;
        for (stack, labels, values) in table.rows() {
            total = total.saturating_add(values[0]);
            let trace = self.trace_serial(stack, labels);
            // In text, too: the record has counts of 32 bits.
            split(values, |values| {
                rows.push(CpuSample {
                    count: saturated(values[0]),
                    trace,
                });
            });
        }
        self.record(&Record::CpuSamples(CpuSamplesRecord {
            total: saturated(total),
            rows: rows.into(),
        }))
    }

    pub(super) fn wall_samples(&mut self, table: &Table) -> io::Result<()> {
        let rows = table.rows().map(|(stack, labels, values)| WallSample {
            count: values[0] / NANOS_PER_MILLI,
            trace: self.trace_serial(stack, labels),
        });
        let mut samples = WallSamples {
            interval: 1,
            rows: rows.collect(),
            ..WallSamples::default()
        };
        let counts = samples.rows.iter().map(|row| row.count);
        samples.total = counts.fold(0, u64::saturating_add);
        self.section(&Section::WallSamples(samples))
    }
}
