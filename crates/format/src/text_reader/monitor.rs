//! `WAIT` and `WAITED`, `MONITOR DUMP` and `MONITOR TIME`.

use std::io::Read;

use super::cpu::nanos;
use super::head::Head;
use super::lines::Lines;
use super::names::AssignedIds;
use super::{TextError, row, shares};
use crate::encode::Micros;
use crate::left_out::LeftOut;
use crate::monitor::{ContendedTime, MonitorRecord, MonitorState, ThreadState, ThreadStatus};
use crate::record::{ThreadSerial, TraceSerial};

/// The first line of a dump.
pub(super) const DUMP: &str = "MONITOR DUMP BEGIN";
const WAIT_FORM: &str = "`WAIT: MONITOR Class;, timeout=N, thread N` or `WAITED: MONITOR Class;, time_waited=N, thread N`";
const DUMP_FORM: &str =
    "`THREAD N, trace N, status: S`, `MONITOR Class;`, or a line of the monitor above";
const TIME_FORM: &str = "`MONITOR TIME BEGIN (total = N ms)` and a date";
const ROW_FORM: &str = "a row: rank, self, accum, count, trace, class";

pub(super) fn wait<R: Read>(lines: &Lines<R>) -> Result<MonitorRecord<'static>, TextError> {
    wait_line(lines.text()).ok_or_else(|| lines.unexpected(WAIT_FORM))
}

fn wait_line(line: &str) -> Option<MonitorRecord<'static>> {
    let (kind, rest) = line.split_once(": MONITOR ")?;
    let (rest, thread) = rest.rsplit_once(", ")?;
    let thread = self::thread(thread)?;
    let (signature, what) = rest.rsplit_once(", ")?;
    let signature = signature.to_owned().into();
    match (kind, what.split_once('=')?) {
        ("WAIT", ("timeout", millis)) => Some(MonitorRecord::Wait {
            signature,
            timeout: millis.parse().ok()?,
            thread,
        }),
        ("WAITED", ("time_waited", millis)) => Some(MonitorRecord::Waited {
            signature,
            time_waited: millis.parse().ok()?,
            thread,
        }),
        _ => None,
    }
}

fn thread(text: &str) -> Option<ThreadSerial> {
    match text {
        "<unknown thread>" => Some(ThreadSerial::UNKNOWN),
        _ => Some(ThreadSerial(text.strip_prefix("thread ")?.parse().ok()?)),
    }
}

pub(super) fn dump<R: Read>(lines: &mut Lines<R>) -> Result<MonitorRecord<'static>, TextError> {
    let start = lines.number();
    let mut threads = Vec::new();
    let mut monitors: Vec<MonitorState> = Vec::new();
    loop {
        let line = lines.within("MONITOR DUMP", start)?;
        if line == "MONITOR DUMP END" {
            break;
        }
        let understood = match line.trim_start().split_once(' ') {
            Some(("THREAD", rest)) => thread_state(rest).map(|state| threads.push(state)),
            Some(("MONITOR", rest)) => {
                monitors.push(monitor_state(rest));
                Some(())
            }
            // The VM's own monitors, which agents before JDK 5 reported too.
            Some(("RAW", rest)) => rest
                .strip_prefix("MONITOR ")
                .map(|rest| monitors.push(monitor_state(rest))),
            _ => monitors
                .last_mut()
                .and_then(|monitor| detail(line.trim_start(), monitor)),
        };
        understood.ok_or_else(|| lines.unexpected(DUMP_FORM))?;
    }
    Ok(MonitorRecord::Dump {
        threads: threads.into(),
        monitors: monitors.into(),
    })
}

/// Parses the text of a dump; `None` if it has anything else.
pub(crate) fn read_monitor_dump(text: &str) -> Option<MonitorRecord<'static>> {
    if !text.starts_with(DUMP) {
        return None;
    }
    let mut lines = Lines::new(text.as_bytes());
    lines.next().ok()?;
    let record = dump(&mut lines).ok()?;
    lines.next().ok()?.is_none().then_some(record)
}

fn thread_state(text: &str) -> Option<ThreadState> {
    let (thread, rest) = text.split_once(", trace ")?;
    let (trace, mut status) = rest.split_once(", status: ")?;
    let mut prefix = |prefix| match status.strip_prefix(prefix) {
        Some(rest) => {
            status = rest;
            true
        }
        None => false,
    };
    let (suspended, interrupted, in_native) = (prefix("S|"), prefix("intr|"), prefix("native|"));
    // The original wrote no name.
    let (status, name) = match status.split_once(' ') {
        Some((status, name)) => (status, name.strip_prefix('"')?.strip_suffix('"')?),
        None => (status, ""),
    };
    Some(ThreadState {
        thread: ThreadSerial(thread.parse().ok()?),
        name: name.to_owned(),
        trace: TraceSerial(trace.parse().ok()?),
        status: match status {
            "R" => ThreadStatus::Runnable,
            "SL" => ThreadStatus::Sleeping,
            "MW" => ThreadStatus::Entering,
            "CW" => ThreadStatus::Waiting,
            "ZO" => ThreadStatus::Ended,
            "NS" => ThreadStatus::NotStarted,
            // Agents before JDK 5 omitted states without a name.
            "UN" | "" => ThreadStatus::Unknown,
            _ => return None,
        },
        suspended,
        interrupted,
        in_native,
    })
}

fn monitor_state(text: &str) -> MonitorState {
    MonitorState {
        signature: text.strip_suffix(" unowned").unwrap_or(text).to_owned(),
        owner: None,
        entering: Vec::new(),
        waiting: Vec::new(),
    }
}

fn detail(line: &str, monitor: &mut MonitorState) -> Option<()> {
    let (what, rest) = line.split_once(':')?;
    let rest = rest.trim();
    match what {
        "owner" => {
            let (owner, entries) = rest.split_once(", entry count: ")?;
            monitor.owner = Some((thread(owner)?, entries.parse().ok()?));
        }
        "waiting to enter" => monitor.entering = threads(rest)?,
        "waiting to be notified" => monitor.waiting = threads(rest)?,
        _ => return None,
    }
    Some(())
}

fn threads(text: &str) -> Option<Vec<ThreadSerial>> {
    match text {
        "" => Some(Vec::new()),
        _ => text.split(", ").map(thread).collect(),
    }
}

pub(super) fn times<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
    head: &Head,
    left_out: Option<&str>,
) -> Result<(Micros, MonitorRecord<'static>), TextError> {
    let start = lines.number();
    let (millis, date) = row::total(lines.text(), "MONITOR TIME BEGIN (total = ", " ms)")
        .ok_or_else(|| lines.unexpected(TIME_FORM))?;
    let time = head.since(date);
    let mut rows = Vec::new();
    let mut printed = Vec::new();
    loop {
        let line = lines.within("MONITOR TIME", start)?;
        if line == "MONITOR TIME END" {
            break;
        }
        if line.trim_start().starts_with("rank ") {
            continue;
        }
        let line = lines.text();
        let row = row::ranked(line).ok_or_else(|| lines.unexpected(ROW_FORM))?;
        printed.push((row.own, row.accumulated));
        let class = class(row.name);
        rows.push(ContendedTime {
            nanos: 0,
            count: row.count,
            trace: TraceSerial(row.trace),
            class: names.class(class),
        });
    }
    let total = nanos(millis, &printed, 999_999);
    for (row, nanos) in rows.iter_mut().zip(shares::parts(total, &printed)) {
        row.nanos = nanos;
    }
    let [_, not_listed] = left_out
        .and_then(LeftOut::of_contentions)
        .map_or([0; 2], |left_out| left_out.values);
    let count = rows
        .iter()
        .fold(not_listed, |sum: u64, row: &ContendedTime| {
            sum.saturating_add(row.count)
        });
    let rows = rows.into();
    Ok((time, MonitorRecord::Time { total, count, rows }))
}

/// Returns the class of a row's monitor. Agents before JDK 5 wrote its address too, and named the VM's own monitors.
fn class(monitor: &str) -> &str {
    if let Some(own) = monitor.strip_suffix(" (Raw)") {
        return own.rsplit_once('(').map_or(own, |(name, _)| name);
    }
    let class = monitor.strip_suffix(" (Java)").unwrap_or(monitor);
    match class.rsplit_once('@') {
        Some((name, address)) if u64::from_str_radix(address, 16).is_ok() => name,
        _ => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_name_where_the_agent_wrote_one() {
        let named =
            thread_state("200008, trace 300003, status: S|SL \"a \"b\" c\"").expect("named");
        assert_eq!((&*named.name, named.suspended), ("a \"b\" c", true));
        assert_eq!(named.status, ThreadStatus::Sleeping);
        let old = thread_state("200008, trace 300003, status: MW").expect("without a name");
        assert_eq!((&*old.name, old.status), ("", ThreadStatus::Entering));
        assert_eq!(thread_state("200008, trace 300003, status: R main"), None);
    }
}
