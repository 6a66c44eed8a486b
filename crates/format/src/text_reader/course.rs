//! `LIVE COURSE`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::names::AssignedIds;
use super::{TextError, row};
use crate::course::{CourseRow, LiveCourse};
use crate::encode::Micros;
use crate::record::TraceSerial;

const BEGIN: &str = "LIVE COURSE BEGIN (";
const FORM: &str =
    "`LIVE COURSE BEGIN (collections = <n>, time = <n> ms, step = <n> ms, of sites <n> ms)`";
const ROW_FORM: &str = "a row: time, collections, bytes, objects, allocated bytes and objects, trace, class; or `all` instead of trace and class";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
    head: &Head,
) -> Result<(Micros, LiveCourse), TextError> {
    let start = lines.number();
    let begin = lines.text().strip_prefix(BEGIN);
    let begin = begin.and_then(LiveCourse::parse_facts);
    let (mut course, date) = begin.ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date.trim_start());
    loop {
        let line = lines.within("LIVE COURSE", start)?;
        if line == "LIVE COURSE END" {
            return Ok((time, course));
        }
        if line.split_whitespace().next() == Some("ms") {
            continue;
        }
        let row = point(line, names).ok_or_else(|| lines.unexpected(ROW_FORM))?;
        course.rows.push(row);
    }
}

fn point(line: &str, names: &mut AssignedIds) -> Option<CourseRow> {
    let ([millis, collections, bytes, objects, allocated, made, trace], class) =
        row::words::<7>(line)?;
    let site = match trace {
        "all" => None,
        _ => Some((
            TraceSerial(trace.parse().ok()?),
            names.class(class.trim_start()),
        )),
    };
    let columns = [millis, collections, bytes, objects, allocated, made];
    CourseRow::parse(columns, site)
}
