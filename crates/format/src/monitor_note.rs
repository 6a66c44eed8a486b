//! MONITOR DUMP and MONITOR TIME as notes, which a binary file has in place of the text format's records: readers that do
//! not know them pass over them.
//!
//! MONITOR DUMP is as in the text format, without the names of threads, which a binary file has where they start. MONITOR
//! TIME has nanoseconds, and the serial numbers of classes.

use std::fmt::Write;

use crate::monitor::{ContendedTime, MonitorRecord, ThreadState};
use crate::monitor_text::print_dump;
use crate::record::{ClassSerial, TraceSerial};
use crate::text_reader::read_monitor_dump;

/// The text before the totals in the note of MONITOR TIME.
const TIME: &str = "MONITOR TIME (total = ";

impl MonitorRecord<'_> {
    /// Formats the note. `None` for a wait, which a binary file does not have: a program may wait 100,000 times a second,
    /// and readers keep all strings of a file in memory.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            MonitorRecord::Wait { .. } | MonitorRecord::Waited { .. } => None,
            MonitorRecord::Dump { threads, monitors } => {
                let unnamed = |thread: &ThreadState| ThreadState {
                    name: String::new(),
                    ..thread.clone()
                };
                let threads: Vec<ThreadState> = threads.iter().map(unnamed).collect();
                let mut text = Vec::new();
                print_dump(&threads, monitors, &mut text).expect("a Vec takes every write");
                Some(String::from_utf8_lossy(&text).into_owned())
            }
            MonitorRecord::Time { total, count, rows } => {
                let mut note = format!("{TIME}{total} ns, count = {count})");
                for row in rows.iter() {
                    let (nanos, count, trace, class) = (row.nanos, row.count, row.trace, row.class);
                    let _ = write!(note, "\n{nanos} {count} {trace} {class}");
                }
                Some(note)
            }
        }
    }

    /// Parses the text of [`MonitorRecord::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<MonitorRecord<'static>> {
        match note.strip_prefix(TIME) {
            Some(time) => parse_time(time),
            None => read_monitor_dump(note),
        }
    }
}

fn parse_time(text: &str) -> Option<MonitorRecord<'static>> {
    let mut lines = text.split('\n');
    let (total, count) = lines.next()?.split_once(" ns, count = ")?;
    let count = count.strip_suffix(')')?;
    let row = |line: &str| {
        let mut columns = line.split(' ');
        let row = ContendedTime {
            nanos: columns.next()?.parse().ok()?,
            count: columns.next()?.parse().ok()?,
            trace: TraceSerial(columns.next()?.parse().ok()?),
            class: ClassSerial(columns.next()?.parse().ok()?),
        };
        columns.next().is_none().then_some(row)
    };
    let rows: Option<Vec<ContendedTime>> = lines.map(row).collect();
    Some(MonitorRecord::Time {
        total: total.parse().ok()?,
        count: count.parse().ok()?,
        rows: rows?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_note_is_none() {
        for note in [
            "MONITOR TIME (total = x ns, count = 1)",
            "MONITOR TIME (total = 1 ns, count = 1) more",
            "MONITOR TIME (total = 1 ns, count = 1)\n5 1 300001",
            "MONITOR TIME (total = 1 ns, count = 1)\n5 1 300001 100001 7",
            "MONITOR DUMP BEGIN",
            "MONITOR DUMP BEGIN\n    THREAD 200001\nMONITOR DUMP END\n",
            "MONITOR DUMP BEGIN\nMONITOR DUMP END\nmore\n",
            "left out",
        ] {
            assert_eq!(MonitorRecord::of_note(note), None, "{note}");
        }
    }
}
