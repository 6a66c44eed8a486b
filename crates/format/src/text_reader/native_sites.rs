//! `NATIVE SITES`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::{TextError, row};
use crate::encode::Micros;
use crate::native_sites::{NativeSite, NativeSites};

const BEGIN: &str = "NATIVE SITES BEGIN (";
const FORM: &str = "`NATIVE SITES BEGIN (live = <n> in <n> +- <n>, old = ..., allocated = ..., age = <n> s, \
                    interval = <n> bytes)` and a date";
const ROW_FORM: &str = "a row: rank, self, accum, live bytes, blocks and +-, old bytes and blocks, allocated \
                        bytes and blocks, trace, method";
const COLUMNS: [&str; 2] = ["percent ", "rank "];

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    head: &Head,
) -> Result<(Micros, NativeSites), TextError> {
    let start = lines.number();
    let begin = lines.text().strip_prefix(BEGIN);
    let begin = begin.and_then(NativeSites::parse_facts);
    let (mut sites, date) = begin.ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date.trim_start());
    loop {
        let line = lines.within("NATIVE SITES", start)?;
        if line == "NATIVE SITES END" {
            return Ok((time, sites));
        }
        let trimmed = line.trim_start();
        if COLUMNS.iter().any(|columns| trimmed.starts_with(columns)) {
            continue;
        }
        let site = site(line);
        sites
            .rows
            .push(site.ok_or_else(|| lines.unexpected(ROW_FORM))?);
    }
}

fn site(line: &str) -> Option<NativeSite> {
    let ([rank, own, accumulated, columns @ ..], _method) = row::words::<11>(line)?;
    rank.parse::<u64>().ok()?;
    row::share(own)?;
    row::share(accumulated)?;
    NativeSite::parse_columns(columns.into_iter())
}
