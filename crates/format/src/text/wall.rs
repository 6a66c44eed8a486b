//! Prints WALL SAMPLES in the text format.

use std::io::{self, Write};

use super::{TextEncoder, percent};
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::wall::WallSamples;

impl TextEncoder {
    pub(super) fn print_wall_samples(
        &self,
        time: Micros,
        samples: &WallSamples,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (facts, date) = (samples.facts(), ctime(self.start, time));
        writeln!(out, "WALL SAMPLES BEGIN ({facts} {date}")?;
        writeln!(out, "rank   self  accum   count trace method")?;
        let mut accumulated = 0_u64;
        for (rank, row) in (1..).zip(&samples.rows) {
            accumulated = accumulated.saturating_add(row.count);
            let own = percent(row.count, samples.total);
            let accum = percent(accumulated, samples.total);
            let (count, trace) = (row.count, row.trace);
            write!(out, "{rank:4} {own:5.2}% {accum:5.2}% {count:7} {trace:5} ")?;
            self.end_with_top(trace, out)?;
        }
        writeln!(out, "WALL SAMPLES END")
    }
}
