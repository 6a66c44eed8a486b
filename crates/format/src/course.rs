//! LIVE COURSE: what was alive, and what had been allocated, over the time of the profile.
//!
//! As [SITE LIFETIMES](crate::Lifetimes) it is a section in text, and a note in a binary file.

use std::fmt::Write;

use crate::record::{ClassSerial, TraceSerial};

/// The text before the facts in a note.
const START: &str = "LIVE COURSE (";

/// One step of time: the results of the looks at all objects in it, each after a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoursePoint {
    /// The time of the last look, in milliseconds since the profile began.
    pub millis: u64,
    /// The number of collections by then.
    pub collections: u32,
    /// The most bytes that a look found alive. They had survived a collection.
    pub most_bytes: u64,
    /// The fewest objects that a look found alive. They had survived a collection.
    pub fewest_objects: u64,
    /// Bytes allocated by the last look, since the profile began.
    pub allocated_bytes: u64,
    /// Objects allocated by then.
    pub allocated_objects: u64,
}

/// A point of the whole, or of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CourseRow {
    /// The site; `None` for the sum of all sites, including those that are not listed.
    pub site: Option<(TraceSerial, ClassSerial)>,
    /// The values.
    pub point: CoursePoint,
}

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveCourse {
    /// The number of collections since the profile began.
    pub collections: u32,
    /// The time since then, in milliseconds.
    pub millis: u64,
    /// The length of a step of the sum of all sites, in milliseconds.
    pub step: u64,
    /// The length of a step of each site, in milliseconds.
    pub site_step: u64,
    /// First the points of all sites, then those of each site. If the first one of a site has
    /// no objects, none had survived a collection before.
    pub rows: Vec<CourseRow>,
}

impl CoursePoint {
    /// Adds a later look in the same step.
    pub fn add(&mut self, later: CoursePoint) {
        *self = CoursePoint {
            most_bytes: self.most_bytes.max(later.most_bytes),
            fewest_objects: self.fewest_objects.min(later.fewest_objects),
            ..later
        };
    }
}

impl CourseRow {
    /// Returns the numbers of a row, in the order of the columns.
    pub(crate) fn columns(&self) -> [u64; 6] {
        let point = self.point;
        [
            point.millis,
            point.collections.into(),
            point.most_bytes,
            point.fewest_objects,
            point.allocated_bytes,
            point.allocated_objects,
        ]
    }

    /// Parses the columns.
    pub(crate) fn parse(
        columns: [&str; 6],
        site: Option<(TraceSerial, ClassSerial)>,
    ) -> Option<CourseRow> {
        let [millis, collections, most_bytes, objects, allocated, made] = columns;
        let point = CoursePoint {
            millis: millis.parse().ok()?,
            collections: collections.parse().ok()?,
            most_bytes: most_bytes.parse().ok()?,
            fewest_objects: objects.parse().ok()?,
            allocated_bytes: allocated.parse().ok()?,
            allocated_objects: made.parse().ok()?,
        };
        Some(CourseRow { site, point })
    }
}

impl LiveCourse {
    /// Formats the facts in the section's first line.
    pub(crate) fn facts(&self) -> String {
        let LiveCourse {
            collections,
            millis,
            step,
            site_step,
            ..
        } = self;
        format!(
            "collections = {collections}, time = {millis} ms, step = {step} ms, of sites {site_step} ms)"
        )
    }

    /// Parses the text of [`LiveCourse::facts`]; returns the rest of the line, too.
    pub(crate) fn parse_facts(text: &str) -> Option<(LiveCourse, &str)> {
        let text = text.strip_prefix("collections = ")?;
        let (collections, text) = text.split_once(", time = ")?;
        let (millis, text) = text.split_once(" ms, step = ")?;
        let (step, text) = text.split_once(" ms, of sites ")?;
        let (site_step, rest) = text.split_once(" ms)")?;
        let course = LiveCourse {
            collections: collections.parse().ok()?,
            millis: millis.parse().ok()?,
            step: step.parse().ok()?,
            site_step: site_step.parse().ok()?,
            rows: Vec::new(),
        };
        Some((course, rest))
    }

    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = format!("{START}{}", self.facts());
        for row in &self.rows {
            for (separator, number) in ["\n", " ", " ", " ", " ", " "].iter().zip(row.columns()) {
                let _ = write!(note, "{separator}{number}");
            }
            if let Some((trace, class)) = row.site {
                let _ = write!(note, " {trace} {class}");
            }
        }
        note
    }

    /// Parses the text of [`LiveCourse::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<LiveCourse> {
        let mut lines = note.strip_prefix(START)?.split('\n');
        let (mut course, rest) = LiveCourse::parse_facts(lines.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        for line in lines {
            let mut words = line.split(' ');
            let mut columns = [""; 6];
            for column in &mut columns {
                *column = words.next()?;
            }
            let site = match words.next() {
                Some(trace) => {
                    let class = words.next()?.parse().ok()?;
                    Some((TraceSerial(trace.parse().ok()?), ClassSerial(class)))
                }
                None => None,
            };
            course.rows.push(CourseRow::parse(columns, site)?);
        }
        Some(course)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(millis: u64) -> CoursePoint {
        CoursePoint {
            millis,
            collections: 3,
            most_bytes: 4_800,
            fewest_objects: 200,
            allocated_bytes: 96_000,
            allocated_objects: 4_000,
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let site = Some((TraceSerial(300_001), ClassSerial(100_007)));
        let rows = [(None, 150), (None, 260), (site, 260)];
        let rows = rows.map(|(site, millis)| CourseRow {
            site,
            point: point(millis),
        });
        let course = LiveCourse {
            collections: 7,
            millis: 2_503,
            step: 100,
            site_step: 200,
            rows: rows.to_vec(),
        };
        let note = course.note();
        assert!(note.starts_with(
            "LIVE COURSE (collections = 7, time = 2503 ms, step = 100 ms, of sites 200 ms)\n150 3 4800 200 96000 4000\n"
        ));
        assert!(note.ends_with("\n260 3 4800 200 96000 4000 300001 100007"));
        assert_eq!(LiveCourse::of_note(&note), Some(course));
    }

    #[test]
    fn a_damaged_note_is_none() {
        let facts = "collections = 7, time = 1 ms, step = 100 ms, of sites 200 ms)";
        for note in [
            "LIVE COURSE (collections = 7)".to_owned(),
            format!("LIVE COURSE ({facts} more"),
            format!("LIVE COURSE ({facts}\n1 2 3 4 5"),
            format!("LIVE COURSE ({facts}\n1 2 3 4 5 6 300001"),
            format!("LIVE COURSE ({facts}\n1 2 x 4 5 6"),
        ] {
            assert_eq!(LiveCourse::of_note(&note), None, "{note}");
        }
    }

    #[test]
    fn a_step_keeps_the_most_bytes_and_the_fewest_objects() {
        let mut step = point(100);
        step.add(CoursePoint {
            millis: 170,
            most_bytes: 4_000,
            fewest_objects: 100,
            allocated_objects: 5_000,
            ..step
        });
        assert_eq!((step.millis, step.allocated_objects), (170, 5_000));
        assert_eq!((step.most_bytes, step.fewest_objects), (4_800, 100));
    }
}
