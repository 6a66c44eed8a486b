//! Writes NATIVE SITES.

use std::io::{self, Write};

use hprof_format::{NativeAmounts, NativeSite, NativeSites, Section};

use super::Writer;
use crate::model::Table;

impl<W: Write> Writer<'_, W> {
    /// Writes a table of the metrics of NATIVE SITES. The standard errors of single rows are not in a profile.
    pub(super) fn native_sites(&mut self, table: &Table) -> io::Result<()> {
        let mut sites = NativeSites::default();
        if let Some(facts) = self.profile.native {
            sites.errors = facts.errors;
            sites.old = facts.old;
            sites.interval = facts.interval;
        }
        for (stack, labels, values) in table.rows() {
            let &[
                live_bytes,
                live_blocks,
                old_bytes,
                old_blocks,
                allocated_bytes,
                allocated_blocks,
            ] = values
            else {
                continue;
            };
            let amounts = NativeAmounts {
                live_bytes,
                live_blocks,
                old_bytes,
                old_blocks,
                allocated_bytes,
                allocated_blocks,
            };
            sites.totals = sites.totals.and(amounts);
            sites.rows.push(NativeSite {
                amounts,
                live_error: 0,
                trace: self.trace_serial(stack, labels),
            });
        }
        self.section(&Section::NativeSites(sites))
    }
}
