//! Prints LOCK WAITS in the text format.

use std::io::{self, Write};

use super::{TextEncoder, percent};
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::lock_waits::LockWaits;

impl TextEncoder {
    pub(super) fn print_lock_waits(
        &self,
        time: Micros,
        waits: &LockWaits,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (facts, date) = (waits.facts(), ctime(self.start, time));
        writeln!(out, "LOCK WAITS BEGIN ({facts} {date}")?;
        writeln!(out, "rank   self  accum   count trace holder lock")?;
        let mut accumulated = 0_u64;
        for (rank, row) in (1..).zip(&waits.rows) {
            accumulated = accumulated.saturating_add(row.count);
            let own = percent(row.count, waits.total);
            let accum = percent(accumulated, waits.total);
            let (count, trace, class) = (row.count, row.trace, self.class_name(row.class));
            let holder = row.holder.unwrap_or_default();
            let ending = row.ending(class);
            writeln!(
                out,
                "{rank:4} {own:5.2}% {accum:5.2}% {count:7} {trace:5} {holder:6} {class}{ending}"
            )?;
        }
        writeln!(out, "LOCK WAITS END")
    }
}
