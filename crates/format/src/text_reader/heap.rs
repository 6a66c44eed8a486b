//! Skips `HEAP DUMP`, checking only its form.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::{TextError, TextItem};
use crate::encode::Micros;

const FORM: &str = "`HEAP DUMP BEGIN (N objects, N bytes)` and a date";
const LINE_FORM: &str = "`ROOT`, `CLS`, `OBJ`, `ARR`, or a value of one of them";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    head: &Head,
) -> Result<(Micros, TextItem), TextError> {
    let start = lines.number();
    let (objects, bytes, date) = begin(lines.text()).ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date);
    loop {
        let line = lines.within("HEAP DUMP", start)?;
        if line == "HEAP DUMP END" {
            return Ok((time, TextItem::HeapDump { objects, bytes }));
        }
        let known = ["\t", "ROOT ", "CLS ", "OBJ ", "ARR ", "("];
        if !known.iter().any(|known| line.starts_with(known)) && !line.is_empty() {
            return Err(lines.unexpected(LINE_FORM));
        }
    }
}

fn begin(line: &str) -> Option<(u64, u64, &str)> {
    let rest = line.strip_prefix("HEAP DUMP BEGIN (")?;
    let (objects, rest) = rest.split_once(" objects, ")?;
    let (bytes, date) = rest.split_once(" bytes)")?;
    Some((
        objects.parse().ok()?,
        bytes.parse().ok()?,
        date.trim_start(),
    ))
}
