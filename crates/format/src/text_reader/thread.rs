//! `THREAD START` and `THREAD END`.

use std::io::Read;

use super::TextError;
use super::lines::Lines;
use super::names::AssignedIds;
use crate::record::{EndThreadRecord, Record, StartThreadRecord};
use crate::record::{ObjectId, StringId, ThreadSerial, TraceSerial};

const FORM: &str =
    "`THREAD START (obj=HEX, id = N, name=\"...\", group=\"...\")` or `THREAD END (id = N)`";
/// The trace of a thread whose starting stack is unknown.
const SYSTEM_TRACE: TraceSerial = TraceSerial(300_000);

pub(super) fn read<R: Read>(
    lines: &Lines<R>,
    names: &mut AssignedIds,
) -> Result<Record<'static>, TextError> {
    let line = lines.text();
    end(line)
        .or_else(|| start(line, names))
        .ok_or_else(|| lines.unexpected(FORM))
}

fn end(line: &str) -> Option<Record<'static>> {
    let id = line
        .strip_prefix("THREAD END (id = ")?
        .strip_suffix(')')?
        .parse()
        .ok()?;
    Some(Record::EndThread(EndThreadRecord {
        serial: ThreadSerial(id),
    }))
}

fn start(line: &str, names: &mut AssignedIds) -> Option<Record<'static>> {
    let rest = line.strip_prefix("THREAD START (obj=")?;
    let (object, rest) = rest.split_once(", id = ")?;
    let (id, rest) = rest.split_once(", name=\"")?;
    // A name may contain anything; the group is last.
    let (name, group) = rest.strip_suffix("\")")?.rsplit_once("\", group=\"")?;
    let object = object.trim_start_matches("0x");
    let object = ObjectId(u64::from_str_radix(object, 16).ok()?);
    let serial = ThreadSerial(id.parse().ok()?);
    Some(Record::StartThread(StartThreadRecord {
        serial,
        object,
        trace: SYSTEM_TRACE,
        name: names.string_once(name),
        group: names.string(group),
        parent_group: StringId(0),
    }))
}
