//! Prints SITE LIFETIMES in the text format.

use std::io::{self, Write};

use super::TextEncoder;
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::lifetimes::Lifetimes;

impl TextEncoder {
    pub(super) fn print_lifetimes(
        &self,
        time: Micros,
        lifetimes: &Lifetimes,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (facts, date) = (lifetimes.facts(), ctime(self.start, time));
        writeln!(out, "SITE LIFETIMES BEGIN ({facts} {date}")?;
        writeln!(out, " state survived       age     bytes  objs trace class")?;
        for row in &lifetimes.rows {
            let [state, survived, age] = row.fate.columns();
            let (bytes, objects) = (row.bytes, row.objects);
            write!(
                out,
                "{state:>6} {survived:>8} {age:>9} {bytes:9} {objects:5} "
            )?;
            match row.site {
                Some((trace, class)) => writeln!(out, "{trace:5} {}", self.class_name(class))?,
                None => writeln!(out, "  all")?,
            }
        }
        writeln!(out, "SITE LIFETIMES END")
    }
}
