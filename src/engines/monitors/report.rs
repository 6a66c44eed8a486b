//! Monitors: waits as they happen, MONITOR DUMP, and MONITOR TIME.

use std::borrow::Cow;

use hprof_format::{self as format, LeftOut, MonitorRecord};

use super::contentions::{Contended, ContentionKey};
use super::snapshot::MonitorStates;
use names::thread::ThreadSerial;
use output::Journal;
use output::serials;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Writes that a thread begins to wait in a monitor of the class with this signature, for at most `timeout`
/// milliseconds (0: without a limit).
pub fn waiting(journal: &Journal, signature: String, timeout: u64, thread: ThreadSerial) {
    let record = MonitorRecord::Wait {
        signature: Cow::Owned(signature),
        timeout,
        thread: serials::thread(thread),
    };
    journal.happened(move |entry| entry.monitor(&record));
}

/// Writes that a thread's wait is over, after `time_waited` milliseconds.
pub fn waited(journal: &Journal, signature: String, time_waited: u64, thread: ThreadSerial) {
    let record = MonitorRecord::Waited {
        signature: Cow::Owned(signature),
        time_waited,
        thread: serials::thread(thread),
    };
    journal.happened(move |entry| entry.monitor(&record));
}

/// Writes the state of all monitors.
pub fn monitor_dump(journal: &Journal, states: &MonitorStates) {
    journal.entry(|entry| {
        for &trace in &states.traces {
            entry.trace(trace);
        }
        entry.monitor(&MonitorRecord::Dump {
            threads: Cow::Borrowed(&states.threads),
            monitors: Cow::Borrowed(&states.monitors),
        });
    });
}

/// Writes the cost of contention, with a note before it. Rows below `cutoff`, a share of the total time, are omitted.
pub fn monitor_time(
    journal: &Journal,
    costs: Vec<(ContentionKey, Contended)>,
    cutoff: f64,
    note: &str,
) {
    journal.entry(|entry| {
        let MonitorSelection {
            total,
            rows,
            left_out,
        } = select(costs, cutoff);
        for (key, _) in &rows {
            entry.trace(key.trace);
            entry.class(key.class);
        }
        entry.note(note);
        if let Some(left_out) = left_out {
            entry.note(&left_out.note_of_contentions(cutoff));
        }
        let rows = rows.iter().map(|(key, contended)| format::ContendedTime {
            nanos: contended.nanos,
            count: contended.count,
            trace: serials::trace(key.trace),
            class: serials::class(key.class),
        });
        entry.monitor(&MonitorRecord::Time {
            total: total.nanos,
            count: total.count,
            rows: rows.collect(),
        });
    });
}

/// The rows of MONITOR TIME, and the sum of those omitted.
struct MonitorSelection {
    total: Contended,
    rows: Vec<(ContentionKey, Contended)>,
    /// The sum of the rows below the cutoff; `None` if there are none.
    left_out: Option<LeftOut<2>>,
}

/// Returns the rows above the cutoff: the costliest first, equal ones in the order in which they were first seen.
fn select(mut rows: Vec<(ContentionKey, Contended)>, cutoff: f64) -> MonitorSelection {
    let total = sum(&rows);
    memory::sort_by_numbers(&mut rows, |(_, row)| [!row.nanos, 0]);
    let end = rows.partition_point(|(_, row)| row.nanos as f64 >= cutoff * total.nanos as f64);
    let cut = rows.split_off(end);
    MonitorSelection {
        total,
        rows,
        left_out: (!cut.is_empty()).then(|| {
            let sum = sum(&cut);
            LeftOut {
                rows: cut.len() as u64,
                values: [sum.nanos / NANOS_PER_MILLI, sum.count],
            }
        }),
    }
}

fn sum(rows: &[(ContentionKey, Contended)]) -> Contended {
    rows.iter()
        .fold(Contended::default(), |sum, (_, row)| Contended {
            nanos: sum.nanos.saturating_add(row.nanos),
            count: sum.count.saturating_add(row.count),
        })
}

#[cfg(test)]
mod tests {
    use super::super::contentions::Contentions;
    use super::*;
    use crate::engines::Totals;
    use names::Tables;
    use names::trace::TraceKey;
    use output::ThreadNames;
    use output::testing::{lines, place};

    #[test]
    fn rows_go_by_time_and_are_cut_at_the_first_below_the_cutoff() {
        let tables = Tables::default();
        let contentions = Contentions::default();
        let name = tables.strings.intern("a");
        let loader = tables.loaders.add();
        let class = tables
            .classes
            .intern(loader, name, || tables.objects.add())
            .id();
        let keys: Vec<ContentionKey> = (1..)
            .zip([10, 70, 10, 9, 1])
            .map(|(thread, nanos)| {
                let trace = tables.traces.intern(TraceKey {
                    thread: Some(ThreadSerial(thread)),
                    frames: &[],
                });
                let key = ContentionKey { trace, class };
                let id = contentions.intern(key);
                contentions.add(id, nanos);
                key
            })
            .collect();
        let MonitorSelection {
            total,
            rows,
            left_out,
        } = select(contentions.costs(Totals::Keep), 0.1);
        assert_eq!(
            (total.nanos, total.count),
            (100, 5),
            "what is cut off counts"
        );
        let left_out = left_out.map(|left_out| (left_out.rows, left_out.values));
        assert_eq!(left_out, Some((2, [0, 2])));
        let expected = [(keys[1], 70), (keys[0], 10), (keys[2], 10)];
        let rows: Vec<_> = rows.iter().map(|(key, row)| (*key, row.nanos)).collect();
        assert_eq!(rows, expected);
        assert!(select(vec![], 0.0).left_out.is_none());
    }

    #[test]
    fn a_thread_that_starts_and_waits_within_a_heap_dump_starts_before_it_waits() {
        let lines = lines(|journal| {
            let thread = ThreadSerial(200_001);
            let dump = journal.hold_events();
            let other = || {
                journal.thread_started(thread, ThreadNames::default());
                waiting(journal, "Ljava/lang/Object;".to_owned(), 0, thread);
                waited(journal, "Ljava/lang/Object;".to_owned(), 1, thread);
                journal.thread_ended(thread);
            };
            std::thread::scope(|scope| {
                scope.spawn(other);
            });
            drop(dump);
        });
        let places =
            ["THREAD START", "WAIT: ", "WAITED: ", "THREAD END"].map(|start| place(&lines, start));
        assert!(places.is_sorted(), "{lines:#?}");
    }
}
