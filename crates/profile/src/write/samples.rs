//! Writes CPU SAMPLES, WALL SAMPLES and LOCK WAITS: of the latter two, time is in samples of one millisecond.

use std::io::{self, Write};

use hprof_format::{
    CpuSample, CpuSamplesRecord, LockWait, LockWaits, Record, WallSample, WallSamples,
};

use super::{Writer, holder_labels, saturated, split};
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
        self.note(&samples.note())
    }
    pub(super) fn lock_waits(&mut self, table: &Table) -> io::Result<()> {
        let mut waits = LockWaits {
            interval: 1,
            ..LockWaits::default()
        };
        for (stack, labels, values) in table.rows() {
            let of_row = *self.profile.labels(labels);
            let holder = of_row.holder.and_then(|holder| {
                let trace = self.traces.get(&(holder, holder_labels(&of_row)));
                trace.copied()
            });
            let lock = of_row.lock.map(|lock| self.profile.names.text(lock));
            let identity = lock.and_then(|lock| lock.rsplit_once('@'));
            let count = values[0] / NANOS_PER_MILLI;
            waits.total = waits.total.saturating_add(count);
            waits.known = waits.known.saturating_add(holder.map_or(0, |_| count));
            let row = LockWait {
                count,
                trace: self.trace_serial(stack, labels),
                holder,
                class: self.class_of(labels)?,
                identity: identity.and_then(|(_, hash)| u32::from_str_radix(hash, 16).ok()),
            };
            waits.rows.push(row);
        }
        self.note(&waits.note())
    }
}
