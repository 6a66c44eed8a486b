//! `CPU SAMPLES` and `CPU TIME`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::{TextError, TextItem, row, shares};
use crate::encode::Micros;
use crate::left_out::LeftOut;
use crate::record::TraceSerial;
use crate::record::{CpuSample, CpuSamplesRecord, Record};
use crate::timing::{Timing, TraceTime};

const FORM: &str =
    "`CPU SAMPLES BEGIN (total = N)` or `CPU TIME (ms) BEGIN (total = N)` and a date";
const ROW_FORM: &str = "a row: rank, self, accum, count, trace, method";
const COLUMNS: &str = "rank ";
const MILLISECOND: u64 = 1_000_000;

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    head: &Head,
    left_out: Option<&str>,
) -> Result<(Micros, TextItem), TextError> {
    let line = lines.text();
    if let Some((total, date)) = row::total(line, "CPU SAMPLES BEGIN (total = ", ")") {
        let (time, Ok(total)) = (head.since(date), u32::try_from(total)) else {
            return Err(lines.unexpected("a total below 2^32"));
        };
        let record = samples(lines, total)?;
        return Ok((time, TextItem::Record(record)));
    }
    if let Some((total, date)) = row::total(line, "CPU TIME (ms) BEGIN (total = ", ")") {
        let time = head.since(date);
        let timing = times(lines, total, left_out)?;
        return Ok((time, TextItem::Timing(timing)));
    }
    Err(lines.unexpected(FORM))
}

fn samples<R: Read>(lines: &mut Lines<R>, total: u32) -> Result<Record<'static>, TextError> {
    let start = lines.number();
    let mut rows = Vec::new();
    loop {
        let line = lines.within("CPU SAMPLES", start)?;
        if line == "CPU SAMPLES END" {
            break;
        }
        if line.trim_start().starts_with(COLUMNS) {
            continue;
        }
        let sample = row::ranked(line).and_then(|row| {
            Some(CpuSample {
                count: row.count.try_into().ok()?,
                trace: TraceSerial(row.trace),
            })
        });
        rows.push(sample.ok_or_else(|| lines.unexpected(ROW_FORM))?);
    }
    Ok(Record::CpuSamples(CpuSamplesRecord {
        total,
        rows: rows.into(),
    }))
}

fn times<R: Read>(
    lines: &mut Lines<R>,
    millis: u64,
    left_out: Option<&str>,
) -> Result<Timing<'static>, TextError> {
    let start = lines.number();
    let mut rows = Vec::new();
    let mut printed = Vec::new();
    loop {
        let line = lines.within("CPU TIME", start)?;
        if line == "CPU TIME (ms) END" {
            break;
        }
        if line.trim_start().starts_with(COLUMNS) {
            continue;
        }
        let line = lines.text();
        let row = row::ranked(line).ok_or_else(|| lines.unexpected(ROW_FORM))?;
        printed.push((row.own, row.accumulated));
        rows.push(TraceTime {
            calls: row.count,
            own: 0,
            trace: TraceSerial(row.trace),
        });
    }
    let total = nanos(millis, &printed, MILLISECOND / 2 - 1);
    for (row, own) in rows.iter_mut().zip(shares::parts(total, &printed)) {
        row.own = own;
    }
    let [_, not_listed] = left_out
        .and_then(LeftOut::of_call_times)
        .map_or([0; 2], |left_out| left_out.values);
    let calls = rows.iter().fold(not_listed, |sum: u64, row: &TraceTime| {
        sum.saturating_add(row.calls)
    });
    Ok(Timing::Traces {
        total,
        calls,
        rows: rows.into(),
    })
}

/// Converts a total of whole milliseconds to nanoseconds; for 0 ms with nonzero shares, the longest time that prints as
/// 0.
pub(super) fn nanos(millis: u64, printed: &[(u64, u64)], below_one: u64) -> u64 {
    match millis {
        0 if printed.iter().any(|&(own, _)| own > 0) => below_one,
        _ => millis.saturating_mul(MILLISECOND),
    }
}
