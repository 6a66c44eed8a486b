//! Waits for locks: of one dump of the run.

use std::time::Duration;

use hprof_format::LockWaits;

use crate::error::Error;
use crate::names::{NOT_LISTED, Names, nanos, signed};
use crate::output::Output;

/// The rows of the wanted dump.
#[derive(Default)]
pub(crate) struct WaitRows {
    seen: u32,
    waits: LockWaits,
}

impl WaitRows {
    /// Returns the number of dumps with waits.
    pub(crate) fn seen(&self) -> u32 {
        self.seen
    }

    pub(crate) fn take(&mut self, wanted: Option<u32>, waits: &LockWaits) {
        self.seen += 1;
        if wanted.is_none_or(|wanted| wanted == self.seen) {
            self.waits.clone_from(waits);
        }
    }

    /// Writes the rows, ordered by class and trace, and one for the part of the total beyond them.
    pub(crate) fn write(mut self, names: &mut Names, out: &mut Output) -> Result<(), Error> {
        let interval = Duration::from_millis(self.waits.interval);
        self.waits
            .rows
            .sort_by_key(|row| (row.class.0, row.trace.0));
        let mut rest = self.waits.total;
        for row in &self.waits.rows {
            rest = rest.saturating_sub(row.count);
            let samples = signed(row.count);
            let trace = names.trace_id(out, row.trace)?;
            let holder = row.holder.map(|holder| names.trace_id(out, holder));
            let holder = holder.transpose()?;
            let class = names.class_id(row.class);
            out.lock_wait.row(|to| {
                to.long(trace)
                    .long(class)
                    .long(row.identity.map(i64::from))
                    .long(holder)
                    .long(samples)
                    .long(nanos(samples, interval));
            })?;
        }
        if rest > 0 {
            let frame = names.marker(out, NOT_LISTED)?;
            let trace = names.new_trace(out, &[frame])?;
            out.lock_wait.row(|to| {
                to.long(trace)
                    .long(None)
                    .long(None)
                    .long(None)
                    .long(signed(rest))
                    .long(nanos(signed(rest), interval));
            })?;
        }
        Ok(())
    }
}
