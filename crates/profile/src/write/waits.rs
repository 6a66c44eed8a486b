//! Writes MONITOR TIME, and LOCK WAITS, whose time is in samples of one millisecond.

use std::io::{self, Write};

use hprof_format::{ContendedTime, LockWait, LockWaits, Micros, MonitorRecord, Section};

use super::{Writer, holder_labels};
use crate::model::Table;
use crate::records::NANOS_PER_MILLI;

impl<W: Write> Writer<'_, W> {
    pub(super) fn monitors(&mut self, table: &Table) -> io::Result<()> {
        let mut rows = Vec::with_capacity(table.len());
        for (stack, labels, values) in table.rows() {
            let class = self.class_of(labels)?;
            rows.push(ContendedTime {
                nanos: values[0],
                count: values[1],
                trace: self.trace_serial(stack, labels),
                class,
            });
        }
        let sum = |value: fn(&ContendedTime) -> u64| {
            let values = rows.iter().map(value);
            values.fold(0, u64::saturating_add)
        };
        let record = MonitorRecord::Time {
            total: sum(|row| row.nanos),
            count: sum(|row| row.count),
            rows: rows.into(),
        };
        let is_written = self.encoder.monitor(Micros(0), &record, &mut self.buffer);
        match Section::of_monitor(&record).filter(|_| !is_written) {
            Some(section) => self.section(&section),
            None => Ok(()),
        }
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
        self.section(&Section::LockWaits(waits))
    }
}
