//! Memory that native code allocates: of one dump of the run.

use hprof_format::{NativeAmounts, NativeSites};

use crate::error::Error;
use crate::names::{NOT_LISTED, Names, signed};
use crate::output::Output;

/// The rows of the wanted dump.
#[derive(Default)]
pub(crate) struct NativeRows {
    seen: u32,
    sites: NativeSites,
}

/// A row as it is stored.
struct Stored {
    trace: i64,
    amounts: NativeAmounts,
    /// The standard error of the live bytes, if it is known.
    error: Option<u64>,
}

impl NativeRows {
    /// Returns the number of dumps with such memory.
    pub(crate) fn seen(&self) -> u32 {
        self.seen
    }

    pub(crate) fn take(&mut self, wanted: Option<u32>, sites: &NativeSites) {
        self.seen += 1;
        if wanted.is_none_or(|wanted| wanted == self.seen) {
            self.sites.clone_from(sites);
        }
    }

    /// Writes the rows, ordered by trace, and one for the part of the totals beyond them.
    pub(crate) fn write(self, names: &mut Names, out: &mut Output) -> Result<(), Error> {
        let old = i32::try_from(self.sites.old).unwrap_or(i32::MAX);
        for row in self.stored(names, out)? {
            let NativeAmounts {
                live_bytes,
                live_blocks,
                old_bytes,
                old_blocks,
                allocated_bytes,
                allocated_blocks,
            } = row.amounts;
            out.native_site.row(|to| {
                to.long(row.trace)
                    .long(signed(live_bytes))
                    .long(signed(live_blocks))
                    .long(row.error.map(signed))
                    .int(old)
                    .long(signed(old_bytes))
                    .long(signed(old_blocks))
                    .long(signed(allocated_bytes))
                    .long(signed(allocated_blocks));
            })?;
        }
        Ok(())
    }

    fn stored(&self, names: &mut Names, out: &mut Output) -> Result<Vec<Stored>, Error> {
        let mut rest = self.sites.totals;
        let mut stored = Vec::with_capacity(self.sites.rows.len() + 1);
        for row in &self.sites.rows {
            rest = rest.without(row.amounts);
            // Rows of merged profiles have no errors; where each block was counted there are none.
            let is_known = row.live_error > 0 || self.sites.interval <= 1;
            stored.push(Stored {
                trace: names.trace_id(out, row.trace)?,
                amounts: row.amounts,
                error: is_known.then_some(row.live_error),
            });
        }
        if rest != NativeAmounts::default() {
            let frame = names.marker(out, NOT_LISTED)?;
            stored.push(Stored {
                trace: names.new_trace(out, &[frame])?,
                amounts: rest,
                error: None,
            });
        }
        stored.sort_by_key(|row| row.trace);
        Ok(stored)
    }
}
