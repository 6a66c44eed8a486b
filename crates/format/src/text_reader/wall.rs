//! `WALL SAMPLES`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::{TextError, row};
use crate::encode::Micros;
use crate::record::TraceSerial;
use crate::wall::{WallSample, WallSamples};

const BEGIN: &str = "WALL SAMPLES BEGIN (";
const FORM: &str = "`WALL SAMPLES BEGIN (total = <n>, interval = <n> ms)` and a date";
const ROW_FORM: &str = "a row: rank, self, accum, count, trace, method";
const COLUMNS: &str = "rank ";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    head: &Head,
) -> Result<(Micros, WallSamples), TextError> {
    let start = lines.number();
    let begin = lines.text().strip_prefix(BEGIN);
    let begin = begin.and_then(WallSamples::parse_facts);
    let (mut samples, date) = begin.ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date.trim_start());
    loop {
        let line = lines.within("WALL SAMPLES", start)?;
        if line == "WALL SAMPLES END" {
            return Ok((time, samples));
        }
        if line.trim_start().starts_with(COLUMNS) {
            continue;
        }
        let sample = row::ranked(line).map(|row| WallSample {
            count: row.count,
            trace: TraceSerial(row.trace),
        });
        samples
            .rows
            .push(sample.ok_or_else(|| lines.unexpected(ROW_FORM))?);
    }
}
