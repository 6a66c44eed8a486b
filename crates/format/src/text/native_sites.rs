//! Prints NATIVE SITES in the text format.

use std::io::{self, Write};

use super::{TextEncoder, percent};
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::native_sites::{NativeAmounts, NativeSites};

impl TextEncoder {
    pub(super) fn print_native_sites(
        &self,
        time: Micros,
        sites: &NativeSites,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (facts, date) = (sites.facts(), ctime(self.start, time));
        writeln!(out, "NATIVE SITES BEGIN ({facts} {date}")?;
        writeln!(
            out,
            "          percent                       live                old            allocated"
        )?;
        writeln!(
            out,
            "rank   self  accum      bytes blocks      +-      bytes blocks      bytes  blocks trace method"
        )?;
        let mut accumulated = 0_u64;
        for (rank, row) in (1..).zip(&sites.rows) {
            let NativeAmounts {
                live_bytes,
                live_blocks,
                old_bytes,
                old_blocks,
                allocated_bytes,
                allocated_blocks,
            } = row.amounts;
            accumulated = accumulated.saturating_add(live_bytes);
            let own = percent(live_bytes, sites.totals.live_bytes);
            let accum = percent(accumulated, sites.totals.live_bytes);
            let (error, trace) = (row.live_error, row.trace);
            write!(
                out,
                "{rank:4} {own:5.2}% {accum:5.2}% {live_bytes:10} {live_blocks:6} {error:7} \
                 {old_bytes:10} {old_blocks:6} {allocated_bytes:10} {allocated_blocks:7} {trace:5} "
            )?;
            self.end_with_top(trace, out)?;
        }
        writeln!(out, "NATIVE SITES END")
    }
}
