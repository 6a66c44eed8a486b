//! `SITES`.

use std::io::Read;

use super::head::Head;
use super::lines::Lines;
use super::names::AssignedIds;
use super::{TextError, row, shares};
use crate::encode::Micros;
use crate::left_out::LeftOut;
use crate::record::TraceSerial;
use crate::record::{AllocSite, AllocSitesRecord, BasicType, Record, SITES_BY_ALLOCATION};

const FORM: &str = "`SITES BEGIN (ordered by live bytes)` or `(ordered by allocated bytes)`";
const ROW_FORM: &str =
    "a row: rank, self, accum, live bytes and objects, allocated bytes and objects, trace, class";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
    head: &Head,
    left_out: Option<&str>,
) -> Result<(Micros, Record<'static>), TextError> {
    let start = lines.number();
    let (flags, date) = begin(lines.text()).ok_or_else(|| lines.unexpected(FORM))?;
    let time = head.since(date);
    let mut sites = Vec::new();
    let mut parts = Vec::new();
    loop {
        let line = lines.within("SITES", start)?;
        if line == "SITES END" {
            break;
        }
        let word = line.split_whitespace().next();
        if matches!(word, Some("percent" | "rank")) {
            continue;
        }
        let (site, part) = site(line, names, flags).ok_or_else(|| lines.unexpected(ROW_FORM))?;
        sites.push(site);
        parts.push(part);
    }
    let [
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
    ] = totals(&sites, &parts, flags, left_out.and_then(LeftOut::of_sites));
    let record = Record::AllocSites(AllocSitesRecord {
        flags,
        cutoff: 0.0,
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
        sites: sites.into(),
    });
    Ok((time, record))
}

/// Returns the sums of all rows. If no line states what is omitted, the total of the bytes that the rows are ordered by
/// follows from the rows' shares.
fn totals(
    sites: &[AllocSite],
    parts: &[shares::Part],
    flags: u16,
    left_out: Option<LeftOut<4>>,
) -> [u64; 4] {
    let nothing = LeftOut {
        rows: 0,
        values: [0; 4],
    };
    let mut totals = left_out.unwrap_or(nothing).with_sites(sites);
    if left_out.is_none() {
        let ordered = match flags & SITES_BY_ALLOCATION {
            0 => 0,
            _ => 2,
        };
        totals[ordered] = shares::whole(parts);
    }
    totals
}

fn begin(line: &str) -> Option<(u16, &str)> {
    let (order, date) = line
        .strip_prefix("SITES BEGIN (ordered by ")?
        .split_once(" bytes)")?;
    let flags = match order {
        "live" => 0,
        "allocated" => SITES_BY_ALLOCATION,
        _ => return None,
    };
    Some((flags, date.trim_start()))
}

fn site(line: &str, names: &mut AssignedIds, flags: u16) -> Option<(AllocSite, shares::Part)> {
    let ([rank, own, accumulated, numbers @ .., trace], name) = row::words::<8>(line)?;
    rank.parse::<u64>().ok()?;
    let mut values = [0; 4];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = number.parse().ok()?;
    }
    let [
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
    ] = values;
    let name = name.trim_start();
    let site = AllocSite {
        array_of: BasicType::of_array_class(name),
        class: names.class(name),
        trace: TraceSerial(trace.parse().ok()?),
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
    };
    let part = shares::Part {
        amount: match flags & SITES_BY_ALLOCATION {
            0 => live_bytes,
            _ => allocated_bytes,
        },
        own: row::share(own)?,
        accumulated: row::share(accumulated)?,
    };
    Some((site, part))
}
