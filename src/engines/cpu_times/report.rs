//! CPU TIME and the old prof format: the cost of calls.

use std::borrow::Cow;

use foldhash::fast::FixedState;
use hprof_format::{CallTime, LeftOut, Timing, TraceTime};
use std::collections::HashMap;

use crate::engines::cpu_times::cost::{CallPair, Cost, TraceCost};
use crate::engines::folding::{Row, fold, is_small};
use names::Tables;
use names::frame::FrameId;
use names::trace::Traces;
use output::Journal;
use output::serials;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The treatment of small rows.
#[derive(Clone, Copy)]
pub struct RowLimit {
    /// A row is small if its time and its calls are smaller shares of their totals.
    pub cutoff: f64,
    /// The outermost frame of rows in which small rows are added up; `None` to omit those.
    pub folded: Option<FrameId>,
}

/// Writes the cost of traces, preceded by one line for each of `notes`.
pub fn cpu_times(journal: &Journal, costs: Vec<TraceCost>, limit: RowLimit, notes: &[String]) {
    let cutoff = limit.cutoff;
    journal.entry(|entry| {
        let MethodSelection {
            total,
            rows,
            left_out,
        } = rows_by_time(costs, limit, &entry.tables.traces);
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

/// Drops rows whose time and calls are smaller shares of their totals than the cutoff.
pub fn without_small(mut costs: Vec<TraceCost>, cutoff: f64) -> Vec<TraceCost> {
    let total = sum(&costs);
    let totals = [total.own, total.calls];
    costs.retain(|row| !is_small(&[row.cost.own, row.cost.calls], &totals, cutoff));
    costs
}

/// The rows of CPU TIME, and the sum of those omitted.
struct MethodSelection {
    total: Cost,
    rows: Vec<TraceCost>,
    /// The sum of the rows below the cutoff; `None` if there are none.
    left_out: Option<LeftOut<2>>,
}

/// Returns the rows that are not small: the costliest first, equal ones in the order in which they were first seen.
fn rows_by_time(costs: Vec<TraceCost>, limit: RowLimit, traces: &Traces) -> MethodSelection {
    let total = sum(&costs);
    let totals = [total.own, total.calls];
    let is_cut = |row: &TraceCost| is_small(&[row.cost.own, row.cost.calls], &totals, limit.cutoff);
    let (mut cut, mut costs): (Vec<TraceCost>, Vec<TraceCost>) =
        costs.into_iter().partition(is_cut);
    if let Some(folded) = limit.folded {
        let small = cut.drain(..).map(|row| Row {
            class: None,
            trace: row.trace,
            values: [row.cost.own, row.cost.calls],
        });
        let sums = fold(small.collect(), totals, limit.cutoff, folded, traces);
        costs.extend(sums.into_iter().map(|row| TraceCost {
            trace: row.trace,
            cost: Cost {
                own: row.values[0],
                calls: row.values[1],
                total: 0,
            },
        }));
    }
    memory::sort_by_numbers(&mut costs, |row| [!row.cost.own, row.trace.index().into()]);
    MethodSelection {
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
    memory::sort_by_numbers(&mut rows, |&((callee, caller), cost)| {
        let caller = caller.map_or(0, |caller| u64::from(caller.index()) + 1);
        [!cost.calls, u64::from(callee.index()) << 32 | caller]
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::class::ClassId;
    use names::frame::{Frame, FrameId, Line, Method};
    use names::loader::LoaderId;
    use names::object::ObjectId;
    use names::trace::{TraceId, TraceKey};

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
    fn rows_go_by_their_own_time_and_are_left_out_if_small_in_both_columns() {
        let tables = Tables::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| trace(&tables, &[name]));
        let costs = vec![
            cost(a, 5, 10),
            cost(b, 5, 70),
            cost(c, 90, 0),
            cost(d, 0, 20),
        ];
        let limit = |cutoff| RowLimit {
            cutoff,
            folded: None,
        };
        let selected = rows_by_time(costs.clone(), limit(0.15), &tables.traces);
        assert_eq!(selected.rows, [costs[1], costs[3], costs[2]]);
        let total = (selected.total.own, selected.total.calls);
        assert_eq!(total, (100, 100), "what is cut off counts");
        let left_out = selected
            .left_out
            .map(|left_out| left_out.note_of_call_times(0.15));
        let note = "left out below the cutoff of 0.15: 1 rows with 0 ms, 5 calls";
        assert_eq!(left_out.as_deref(), Some(note));
        let all = rows_by_time(costs.clone(), limit(0.0), &tables.traces);
        assert_eq!((all.rows.len(), all.left_out), (4, None));
        assert_eq!(rows_by_time(vec![], limit(0.1), &tables.traces).rows, []);
        let limit = RowLimit {
            folded: Some(frame(&tables, "folded")),
            ..limit(0.15)
        };
        let folded = rows_by_time(costs, limit, &tables.traces);
        assert_eq!((folded.rows.len(), folded.left_out), (4, None));
        assert_eq!(sum(&folded.rows).own, 100);
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
