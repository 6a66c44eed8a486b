//! `LOCK WAITS`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::names::AssignedIds;
use super::{TextError, row};
use crate::encode::Micros;
use crate::lock_waits::{LockWait, LockWaits};
use crate::record::TraceSerial;

const BEGIN: &str = "LOCK WAITS BEGIN (";
const FORM: &str =
    "`LOCK WAITS BEGIN (total = <n>, interval = <n> ms, holder known = <n>)` and a date";
const ROW_FORM: &str = "a row: rank, self, accum, count, trace, holder, lock";
const COLUMNS: &str = "rank ";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
    head: &Head,
) -> Result<(Micros, LockWaits), TextError> {
    let start = lines.number();
    let begin = lines.text().strip_prefix(BEGIN);
    let begin = begin.and_then(LockWaits::parse_facts);
    let (mut waits, date) = begin.ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date.trim_start());
    loop {
        let line = lines.within("LOCK WAITS", start)?;
        if line == "LOCK WAITS END" {
            return Ok((time, waits));
        }
        if line.trim_start().starts_with(COLUMNS) {
            continue;
        }
        let wait = wait(line, names);
        waits
            .rows
            .push(wait.ok_or_else(|| lines.unexpected(ROW_FORM))?);
    }
}

fn wait(line: &str, names: &mut AssignedIds) -> Option<LockWait> {
    let row = row::ranked(line)?;
    let (holder, lock) = row.name.trim_start().split_once(' ')?;
    let (class, identity) = LockWait::parse_lock(lock);
    Some(LockWait {
        count: row.count,
        trace: TraceSerial(row.trace),
        holder: LockWait::parse_holder(holder)?,
        class: names.class(class),
        identity,
    })
}
