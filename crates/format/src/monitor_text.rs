//! Prints [`MonitorRecord`]s in the text format.

use std::io::{self, Write};

use crate::ctime::ctime;
use crate::encode::Micros;
use crate::monitor::{ContendedTime, MonitorRecord, MonitorState, ThreadState, ThreadStatus};
use crate::printable::printable;
use crate::record::ThreadSerial;
use crate::text::{TextEncoder, percent};

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

impl TextEncoder {
    pub(crate) fn print_monitor(
        &self,
        time: Micros,
        record: &MonitorRecord<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match record {
            MonitorRecord::Wait {
                signature,
                timeout,
                thread,
            } => writeln!(
                out,
                "WAIT: MONITOR {}, timeout={timeout}, {}",
                printable(signature.as_bytes()),
                name(*thread)
            ),
            MonitorRecord::Waited {
                signature,
                time_waited,
                thread,
            } => writeln!(
                out,
                "WAITED: MONITOR {}, time_waited={time_waited}, {}",
                printable(signature.as_bytes()),
                name(*thread)
            ),
            MonitorRecord::Dump { threads, monitors } => print_dump(threads, monitors, out),
            MonitorRecord::Time { total, rows, .. } => self.print_time(time, *total, rows, out),
        }
    }

    pub(crate) fn print_monitors(
        &self,
        threads: &[ThreadState],
        monitors: &[MonitorState],
        out: &mut impl Write,
    ) -> io::Result<()> {
        print_dump(threads, monitors, out)
    }

    pub(crate) fn print_time(
        &self,
        time: Micros,
        total: u64,
        rows: &[ContendedTime],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let start = self.start_time();
        let millis = total / MILLISECOND;
        writeln!(
            out,
            "MONITOR TIME BEGIN (total = {millis} ms) {}",
            ctime(start, time)
        )?;
        writeln!(out, "rank   self  accum   count trace monitor")?;
        let mut accumulated: u64 = 0;
        for (rank, row) in (1..).zip(rows) {
            accumulated = accumulated.saturating_add(row.nanos);
            let own = percent(row.nanos, total);
            let accum = percent(accumulated, total);
            let (count, trace) = (row.count, row.trace);
            let class = self.class_name(row.class);
            writeln!(
                out,
                "{rank:4} {own:5.2}% {accum:5.2}% {count:7} {trace:5} {class} (Java)"
            )?;
        }
        writeln!(out, "MONITOR TIME END")
    }
}

pub(crate) fn print_dump(
    threads: &[ThreadState],
    monitors: &[MonitorState],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "MONITOR DUMP BEGIN")?;
    threads
        .iter()
        .try_for_each(|thread| print_thread(thread, out))?;
    monitors
        .iter()
        .try_for_each(|monitor| print_monitor(monitor, out))?;
    writeln!(out, "MONITOR DUMP END")
}

fn print_thread(thread: &ThreadState, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "    THREAD {}, trace {}, status: ",
        thread.thread, thread.trace
    )?;
    let prefixes = [
        (thread.suspended, "S|"),
        (thread.interrupted, "intr|"),
        (thread.in_native, "native|"),
    ];
    for (_, prefix) in prefixes.iter().filter(|(holds, _)| *holds) {
        write!(out, "{prefix}")?;
    }
    let status = match thread.status {
        ThreadStatus::Runnable => "R",
        ThreadStatus::Sleeping => "SL",
        ThreadStatus::Entering => "MW",
        ThreadStatus::Waiting => "CW",
        ThreadStatus::Ended => "ZO",
        ThreadStatus::NotStarted => "NS",
        ThreadStatus::Unknown => "UN",
    };
    write!(out, "{status}")?;
    // After a space and at the end of the line, because readers know the line without it.
    match &*thread.name {
        "" => writeln!(out),
        name => writeln!(out, " \"{}\"", printable(name.as_bytes())),
    }
}

fn print_monitor(monitor: &MonitorState, out: &mut impl Write) -> io::Result<()> {
    let signature = printable(monitor.signature.as_bytes());
    match monitor.owner {
        Some((owner, entries)) => {
            writeln!(out, "    MONITOR {signature}")?;
            writeln!(out, "\towner: {}, entry count: {entries}", name(owner))?;
        }
        None => writeln!(out, "    MONITOR {signature} unowned")?,
    }
    print_threads("waiting to enter", &monitor.entering, out)?;
    print_threads("waiting to be notified", &monitor.waiting, out)
}

/// The line is printed even without threads, because parsers expect it.
fn print_threads(what: &str, threads: &[ThreadSerial], out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = threads.iter().map(|&thread| name(thread)).collect();
    let space = if names.is_empty() { "" } else { " " };
    writeln!(out, "\t{what}:{space}{}", names.join(", "))
}

fn name(thread: ThreadSerial) -> String {
    match thread {
        ThreadSerial::UNKNOWN | ThreadSerial::ANY => "<unknown thread>".to_owned(),
        thread => format!("thread {thread}"),
    }
}
