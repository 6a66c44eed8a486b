//! Prints LIVE COURSE in the text format.

use std::io::{self, Write};

use super::TextEncoder;
use crate::course::LiveCourse;
use crate::ctime::ctime;
use crate::encode::Micros;

impl TextEncoder {
    pub(super) fn print_course(
        &self,
        time: Micros,
        course: &LiveCourse,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (facts, date) = (course.facts(), ctime(self.start, time));
        writeln!(out, "LIVE COURSE BEGIN ({facts} {date}")?;
        writeln!(
            out,
            "       ms  coll     bytes  objs  alloc'ed   objs trace class"
        )?;
        for row in &course.rows {
            let [millis, collections, bytes, objects, allocated, made] = row.columns();
            write!(
                out,
                "{millis:9} {collections:5} {bytes:9} {objects:5} {allocated:9} {made:6} "
            )?;
            match row.site {
                Some((trace, class)) => writeln!(out, "{trace:5} {}", self.class_name(class))?,
                None => writeln!(out, "  all")?,
            }
        }
        writeln!(out, "LIVE COURSE END")
    }
}
