//! CPU TIME and the old prof format: the cost of calls.

use std::borrow::Cow;

use foldhash::fast::FixedState;
use hprof_format::{CallTime, LeftOut, Timing, TraceTime};
use std::collections::HashMap;

use crate::engines::cpu_times::cost::{CallPair, Cost, TraceCost};
use crate::names::Tables;
use crate::output::Journal;
use crate::output::serials;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Writes the cost of traces, preceded by one line for each of `notes`. Rows below `cutoff`, a share of the total time,
/// are omitted.
pub fn cpu_times(journal: &Journal, costs: Vec<TraceCost>, cutoff: f64, notes: &[String]) {
    journal.entry(|entry| {
        let Selection {
            total,
            rows,
            left_out,
        } = rows_by_time(costs, cutoff);
        for row in &rows {
            entry.trace(row.trace);
        }
        for note in notes {
            entry.note(note);
        }
        if let Some(left_out) = left_out {
            entry.note(&left_out.note_of_call_times(cutoff));
        }
        let rows = rows.iter().map(|row| TraceTime {
            calls: row.cost.calls,
            own: row.cost.own,
            trace: serials::trace(row.trace),
        });
        entry.records.write_timing(&Timing::Traces {
            total: total.own,
            calls: total.calls,
            rows: Cow::Owned(rows.collect()),
        });
    });
}

/// Writes the cost of calls by caller and callee, in the old prof format, which has no cutoff. Traces must have at
/// least two frames if there is a caller.
pub fn old_prof(journal: &Journal, costs: &[TraceCost]) {
    journal.entry(|entry| {
        let rows = rows_by_calls(entry.tables, costs);
        let mut calls = Vec::with_capacity(rows.len());
        for ((callee, caller), cost) in rows {
            calls.push(CallTime {
                calls: cost.calls,
                callee: entry.frame(callee),
                caller: caller.map(|caller| entry.frame(caller)),
                total: cost.total,
            });
        }
        entry
            .records
            .write_timing(&Timing::Calls(Cow::Owned(calls)));
    });
}

/// The rows of CPU TIME, and the sum of those omitted.
struct Selection {
    total: Cost,
    rows: Vec<TraceCost>,
    /// The sum of the rows below the cutoff; `None` if there are none.
    left_out: Option<LeftOut<2>>,
}

/// Returns the rows above the cutoff: the costliest first, equal ones in the order in which they were first seen.
fn rows_by_time(mut costs: Vec<TraceCost>, cutoff: f64) -> Selection {
    let total = sum(&costs);
    let order = |row: &TraceCost| (std::cmp::Reverse(row.cost.own), row.trace);
    costs.sort_by_key(order);
    let end = costs.partition_point(|row| is_above(row.cost.own, total.own, cutoff));
    let cut = costs.split_off(end);
    Selection {
        total,
        rows: costs,
        left_out: (!cut.is_empty()).then(|| {
            let sum = sum(&cut);
            LeftOut {
                rows: cut.len() as u64,
                values: [sum.own / NANOS_PER_MILLI, sum.calls],
            }
        }),
    }
}

fn sum(costs: &[TraceCost]) -> Cost {
    costs.iter().fold(Cost::default(), |mut sum, row| {
        sum += row.cost;
        sum
    })
}

fn rows_by_calls(tables: &Tables, costs: &[TraceCost]) -> Vec<(CallPair, Cost)> {
    let mut pairs = HashMap::<CallPair, Cost, FixedState>::default();
    for row in costs {
        let frames = tables.traces.get(row.trace).frames;
        if let Some(&callee) = frames.first() {
            *pairs.entry((callee, frames.get(1).copied())).or_default() += row.cost;
        }
    }
    let called = |(_, cost): &(CallPair, Cost)| cost.calls > 0;
    let mut rows: Vec<(CallPair, Cost)> = pairs.into_iter().filter(called).collect();
    let order = |&(pair, cost): &(CallPair, Cost)| (std::cmp::Reverse(cost.calls), pair);
    rows.sort_by_key(order);
    rows
}

fn is_above(part: u64, whole: u64, cutoff: f64) -> bool {
    cutoff <= 0.0 || whole > 0 && part as f64 / whole as f64 >= cutoff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::class::ClassId;
    use crate::names::frame::{Frame, FrameId, Line, Method};
    use crate::names::loader::LoaderId;
    use crate::names::object::ObjectId;
    use crate::names::trace::{TraceId, TraceKey};

    fn class(tables: &Tables) -> ClassId {
        let name = tables.strings.intern("A");
        tables
            .classes
            .intern(LoaderId::BOOT, name, || ObjectId(1))
            .id()
    }

    fn frame(tables: &Tables, name: &str) -> FrameId {
        let method = Method {
            class: class(tables),
            name: tables.strings.intern(name),
            signature: tables.strings.intern("()V"),
            source_file: None,
        };
        tables.frames.intern(Frame {
            method,
            line: Line::Unknown,
        })
    }

    fn trace(tables: &Tables, names: &[&str]) -> TraceId {
        let frames: Vec<_> = names.iter().map(|name| frame(tables, name)).collect();
        tables.traces.intern(TraceKey {
            thread: None,
            frames: &frames,
        })
    }

    fn cost(trace: TraceId, calls: u64, own: u64) -> TraceCost {
        let total = own * 2;
        TraceCost {
            trace,
            cost: Cost { calls, own, total },
        }
    }

    #[test]
    fn rows_go_by_their_own_time_and_are_cut_at_the_first_below_the_cutoff() {
        let tables = Tables::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| trace(&tables, &[name]));
        let costs = vec![cost(a, 90, 10), cost(b, 5, 70), cost(c, 5, 20)];
        let selected = rows_by_time(costs.clone(), 0.15);
        assert_eq!(selected.rows, [costs[1], costs[2]]);
        let total = (selected.total.own, selected.total.calls);
        assert_eq!(total, (100, 100), "what is cut off counts");
        let left_out = selected
            .left_out
            .map(|left_out| left_out.note_of_call_times(0.15));
        let note = "left out below the cutoff of 0.15: 1 rows with 0 ms, 90 calls";
        assert_eq!(left_out.as_deref(), Some(note));
        let all = rows_by_time(costs, 0.0);
        assert_eq!((all.rows.len(), all.left_out), (3, None));
        assert_eq!(rows_by_time(vec![], 0.1).rows, []);
    }

    #[test]
    fn pairs_of_methods_add_up_over_traces() {
        let tables = Tables::default();
        let costs = [
            cost(trace(&tables, &["b", "a", "x"]), 2, 10),
            cost(trace(&tables, &["b", "a", "y"]), 3, 20),
            cost(trace(&tables, &["a"]), 7, 1),
        ];
        let (a, b) = (frame(&tables, "a"), frame(&tables, "b"));
        let rows = rows_by_calls(&tables, &costs);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].0, rows[0].1.calls), ((a, None), 7));
        assert_eq!(rows[1].0, (b, Some(a)));
        assert_eq!((rows[1].1.calls, rows[1].1.total), (5, 60));
    }
}
