//! How long objects lived and what was alive over time: of one dump of the run.

use hprof_format::{ClassSerial, CourseRow, LifetimeRow, Lifetimes, LiveCourse, TraceSerial};

use crate::error::Error;
use crate::names::{Names, signed};
use crate::output::Output;

/// The text of a column that does not apply.
const NONE: &str = "-";

/// The rows of the wanted dump.
#[derive(Default)]
pub(crate) struct HistoryRows {
    lifetimes_seen: u32,
    lifetimes: Vec<LifetimeRow>,
    courses_seen: u32,
    course: Vec<CourseRow>,
}

impl HistoryRows {
    pub(crate) fn lifetimes(&mut self, wanted: Option<u32>, lifetimes: &Lifetimes) {
        self.lifetimes_seen += 1;
        if wanted.is_none_or(|wanted| wanted == self.lifetimes_seen) {
            self.lifetimes.clone_from(&lifetimes.rows);
        }
    }

    pub(crate) fn course(&mut self, wanted: Option<u32>, course: &LiveCourse) {
        self.courses_seen += 1;
        if wanted.is_none_or(|wanted| wanted == self.courses_seen) {
            self.course.clone_from(&course.rows);
        }
    }

    /// Writes the tables.
    pub(crate) fn write(mut self, names: &mut Names, out: &mut Output) -> Result<(), Error> {
        // The sum of all sites comes first, and the rows of a site stay in their order.
        let key = |site: Option<(TraceSerial, ClassSerial)>| {
            site.map(|(trace, class)| (class.0, trace.0))
        };
        self.lifetimes.sort_by_key(|row| key(row.site));
        self.course.sort_by_key(|row| key(row.site));
        for row in self.lifetimes {
            let (trace, class) = site(row.site, names, out)?;
            let columns = row.fate.columns();
            let [state, survived, age] = columns.each_ref().map(String::as_str);
            let optional = |text| (text != NONE).then_some(text);
            out.site_lifetime.row(|to| {
                to.long(trace)
                    .long(class)
                    .text(state)
                    .text(optional(survived))
                    .text(optional(age))
                    .long(signed(row.bytes))
                    .long(signed(row.objects));
            })?;
        }
        for row in self.course {
            let (trace, class) = site(row.site, names, out)?;
            let point = row.point;
            out.live_course.row(|to| {
                to.long(trace)
                    .long(class)
                    .long(signed(point.millis))
                    .int(point.collections.cast_signed())
                    .long(signed(point.most_bytes))
                    .long(signed(point.fewest_objects))
                    .long(signed(point.allocated_bytes))
                    .long(signed(point.allocated_objects));
            })?;
        }
        Ok(())
    }
}

/// Returns the ids of the trace and the class; none for the sum of all sites.
fn site(
    site: Option<(TraceSerial, ClassSerial)>,
    names: &mut Names,
    out: &mut Output,
) -> Result<(Option<i64>, Option<i64>), Error> {
    match site {
        Some((trace, class)) => Ok((Some(names.trace_id(out, trace)?), names.class_id(class))),
        None => Ok((None, None)),
    }
}
