//! CPU TIME and the old prof format: what calls cost.

use std::borrow::Cow;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hprof_format::{CallTime, Timing, TraceTime};

use crate::engines::cpu_times::cost::{CallPair, Cost, TraceCost};
use crate::names::Tables;
use crate::output::Journal;
use crate::output::serials;

/// Writes what traces have cost. Rows below `cutoff`, a share of all time, are left out. Each of `notes` is a line before it.
pub fn cpu_times(journal: &Journal, costs: Vec<TraceCost>, cutoff: f64, notes: &[String]) {
    journal.entry(|entry| {
        let (total, rows) = rows_by_time(costs, cutoff);
        for row in &rows {
            entry.trace(row.trace);
        }
        for note in notes {
            entry.note(note);
        }
        let rows = rows.iter().map(|row| TraceTime {
            calls: row.cost.calls,
            own: row.cost.own,
            trace: serials::trace(row.trace),
        });
        entry.records.write_timing(&Timing::Traces {
            total,
            rows: Cow::Owned(rows.collect()),
        });
    });
}

/// Writes what calls have cost by caller and callee, in the old prof format. Traces have two frames at the least where
/// there is a caller. The format knows no cutoff.
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

/// All time, and the rows that are not cut off: the costliest first, equal ones in the order they were seen.
fn rows_by_time(mut costs: Vec<TraceCost>, cutoff: f64) -> (u64, Vec<TraceCost>) {
    let total: u64 = costs.iter().map(|row| row.cost.own).sum();
    let order = |row: &TraceCost| (std::cmp::Reverse(row.cost.own), row.trace);
    costs.sort_by_key(order);
    let end = costs.partition_point(|row| is_above(row.cost.own, total, cutoff));
    costs.truncate(end);
    (total, costs)
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
        let (total, rows) = rows_by_time(costs.clone(), 0.15);
        assert_eq!(total, 100, "what is cut off counts");
        assert_eq!(rows, [costs[1], costs[2]]);
        assert_eq!(rows_by_time(costs, 0.0).1.len(), 3);
        assert_eq!(rows_by_time(vec![], 0.1), (0, vec![]));
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
