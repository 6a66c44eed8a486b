//! Writes MONITOR TIME, and LOCK WAITS, whose time is in samples of one millisecond.

use std::io::{self, Write};

use hprof_format::{ContendedTime, LockWait, LockWaits, Micros, MonitorRecord, Section};

use super::Writer;
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
            let lock = self.timed_lock(labels)?;
            let count = values[0] / NANOS_PER_MILLI;
            waits.total = waits.total.saturating_add(count);
            waits.known = waits.known.saturating_add(lock.holder.map_or(0, |_| count));
            let row = LockWait {
                count,
                trace: self.trace_serial(stack, labels),
                holder: lock.holder,
                class: lock.class,
                identity: lock.identity,
            };
            waits.rows.push(row);
        }
        self.section(&Section::LockWaits(waits))
    }
}
