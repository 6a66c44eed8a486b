//! `SITE LIFETIMES`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::names::AssignedIds;
use super::{TextError, row};
use crate::encode::Micros;
use crate::lifetimes::{Fate, LifetimeRow, Lifetimes};
use crate::record::TraceSerial;

const BEGIN: &str = "SITE LIFETIMES BEGIN (";
const FORM: &str = "`SITE LIFETIMES BEGIN (collections = <n>, time = <n> ms)`";
const ROW_FORM: &str = "a row: state, survived, age, bytes, objects, trace, class; or `all` instead of trace and class";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
    head: &Head,
) -> Result<(Micros, Lifetimes), TextError> {
    let start = lines.number();
    let begin = lines.text().strip_prefix(BEGIN);
    let begin = begin.and_then(Lifetimes::parse_facts);
    let (mut lifetimes, date) = begin.ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date.trim_start());
    loop {
        let line = lines.within("SITE LIFETIMES", start)?;
        if line == "SITE LIFETIMES END" {
            return Ok((time, lifetimes));
        }
        if line.split_whitespace().next() == Some("state") {
            continue;
        }
        let row = lifetime(line, names).ok_or_else(|| lines.unexpected(ROW_FORM))?;
        lifetimes.rows.push(row);
    }
}

fn lifetime(line: &str, names: &mut AssignedIds) -> Option<LifetimeRow> {
    let ([state, survived, age, bytes, objects, trace], class) = row::words::<6>(line)?;
    let site = match trace {
        "all" => None,
        _ => Some((
            TraceSerial(trace.parse().ok()?),
            names.class(class.trim_start()),
        )),
    };
    Some(LifetimeRow {
        site,
        fate: Fate::parse([state, survived, age])?,
        bytes: bytes.parse().ok()?,
        objects: objects.parse().ok()?,
    })
}
