//! CPU TIME and the old prof format: the cost of calls.

use std::borrow::Cow;

use hprof_format::{CallTime, LeftOut, Timing, TraceTime};

use super::context_table::TraceNaming;
use super::cost::{CallPair, ContextCosts, Cost};
use crate::engines::folding::{Fold, Small, SmallRows, is_small};
use memory::{List, Map, OrStop};
use names::frame::FrameId;
use names::trace::{TraceId, Traces};
use output::Journal;
use output::serials;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The treatment of small rows.
#[derive(Clone, Copy)]
pub(super) struct RowLimit {
    /// A row is small if its time and its calls are smaller shares of their totals.
    pub(super) cutoff: f64,
    /// The outermost frame of rows in which small rows are added up; `None` to omit those.
    pub(super) folded: Option<FrameId>,
}

/// Writes rows of costs, preceded by one line for each of `notes`.
pub(super) fn cpu_times(
    journal: &Journal,
    selection: &MethodSelection,
    cutoff: f64,
    notes: &[String],
) {
    journal.entry(|entry| {
        for row in &selection.rows {
            entry.trace(row.trace);
        }
        for note in notes {
            entry.note(note);
        }
        if let Some(left_out) = selection.left_out {
            entry.note(&left_out.note_of_call_times(cutoff));
        }
        let rows = selection.rows.iter().map(|row| TraceTime {
            calls: row.cost.calls,
            own: row.cost.own,
            trace: serials::trace(row.trace),
        });
        entry.records.write_timing(&Timing::Traces {
            total: selection.total.own,
            calls: selection.total.calls,
            rows: Cow::Owned(rows.collect()),
        });
    });
}

/// Writes the cost of calls by caller and callee, in the old prof format, which has no cutoff.
pub(super) fn old_prof(journal: &Journal, rows: &[(CallPair, Cost)]) {
    journal.entry(|entry| {
        let mut calls = Vec::with_capacity(rows.len());
        for &((callee, caller), cost) in rows {
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

/// The cost of the calls of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraceCost {
    trace: TraceId,
    cost: Cost,
}

/// The rows of CPU TIME, and the sum of those omitted.
#[derive(Default)]
pub(super) struct MethodSelection {
    total: Cost,
    rows: Vec<TraceCost>,
    /// The sum of the rows below the cutoff; `None` if there are none.
    left_out: Option<LeftOut<2>>,
}

/// Returns the rows that are not small: the costliest first, equal ones in the order in which they were first seen.
pub(super) fn rows_by_time(
    all: &ContextCosts<'_>,
    limit: RowLimit,
    traces: &Traces,
) -> MethodSelection {
    let total = all.sum();
    let totals = [total.own, total.calls];
    let mut naming = TraceNaming::new(all.table, traces);
    let (mut rows, mut small) = (List::new(), SmallRows::default());
    let mut cut = LeftOut {
        rows: 0,
        values: [0; 2],
    };
    for (context, cost) in all.iter() {
        let values = [cost.own, cost.calls];
        if !is_small(&values, &totals, limit.cutoff) {
            let trace = naming.trace(context);
            rows.push(TraceCost { trace, cost }).or_stop();
        } else if limit.folded.is_some() {
            let (class, stack) = (None, context.into());
            small.push(Small {
                class,
                stack,
                values,
            });
        } else {
            cut.rows += 1;
            cut.values = [cut.values[0] + cost.own, cut.values[1] + cost.calls];
        }
    }
    if let Some(folded) = limit.folded {
        let rule = Fold {
            totals,
            cutoff: limit.cutoff,
            folded,
        };
        let sums = rule.stacks(small, &all.table.stacks(traces), traces);
        let sums = sums.into_iter().map(|row| TraceCost {
            trace: row.trace,
            cost: Cost {
                own: row.values[0],
                calls: row.values[1],
                total: 0,
            },
        });
        rows.extend(sums).or_stop();
    }
    let mut rows = rows.into_vec();
    memory::sort_by_numbers(&mut rows, |row| [!row.cost.own, row.trace.index().into()]);
    cut.values[0] /= NANOS_PER_MILLI;
    MethodSelection {
        total,
        rows,
        left_out: (cut.rows > 0).then_some(cut),
    }
}

/// Returns the cost of the calls of each pair of methods, those of the most calls first. Contexts whose own time and calls are smaller
/// shares of their totals than `least` are omitted. They must have at least two frames if there is a caller.
pub(super) fn rows_by_calls(
    all: &ContextCosts<'_>,
    least: f64,
    traces: &Traces,
) -> Vec<(CallPair, Cost)> {
    let total = all.sum();
    let totals = [total.own, total.calls];
    let mut pairs = Map::<CallPair, Cost>::default();
    for (context, cost) in all.iter() {
        if is_small(&[cost.own, cost.calls], &totals, least) {
            continue;
        }
        if let [Some(callee), caller] = all.table.innermost_two(context, traces) {
            *pairs.get_or_default((callee, caller)).or_stop() += cost;
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
    use crate::engines::cpu_times::context_table::{ContextId, ContextTable};
    use names::Tables;
    use names::class::ClassId;
    use names::frame::{Frame, FrameId, Line, Method};
    use names::loader::LoaderId;
    use names::object::ObjectId;

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

    /// Adds a context, with its innermost method first, and its cost.
    fn cost(
        (table, tables): (&mut ContextTable, &Tables),
        names: &[&str],
        calls: u64,
        own: u64,
    ) -> (ContextId, Cost) {
        let mut context = table.outside(None);
        for name in names.iter().rev() {
            context = table.called(context, frame(tables, name));
        }
        let total = own * 2;
        (context, Cost { calls, own, total })
    }

    /// Reads the costs of these contexts, and none of the others.
    fn with_costs<T>(
        table: &ContextTable,
        costs: &[(ContextId, Cost)],
        read: impl FnOnce(&ContextCosts<'_>) -> T,
    ) -> T {
        let cost_of = |context| {
            let cost = costs.iter().find(|(other, _)| *other == context);
            cost.map(|&(_, cost)| cost).unwrap_or_default()
        };
        read(&ContextCosts {
            table,
            cost_of: &cost_of,
        })
    }

    #[test]
    fn rows_go_by_their_own_time_and_are_left_out_if_small_in_both_columns() {
        let tables = Tables::default();
        let mut table = ContextTable::default();
        let all = [("a", 5, 10), ("b", 5, 70), ("c", 90, 0), ("d", 0, 20)];
        let all = all.map(|(name, calls, own)| cost((&mut table, &tables), &[name], calls, own));
        let rows = |costs: &[_], limit| {
            with_costs(&table, costs, |costs| {
                rows_by_time(costs, limit, &tables.traces)
            })
        };
        let limit = |cutoff| RowLimit {
            cutoff,
            folded: None,
        };
        let selected = rows(&all, limit(0.15));
        let costs = selected.rows.iter().map(|row| row.cost);
        assert!(costs.eq([1, 3, 2].map(|place: usize| all[place].1)));
        let total = (selected.total.own, selected.total.calls);
        assert_eq!(total, (100, 100), "what is cut off counts");
        let left_out = selected
            .left_out
            .map(|left_out| left_out.note_of_call_times(0.15));
        let note = "left out below the cutoff of 0.15: 1 rows with 0 ms, 5 calls";
        assert_eq!(left_out.as_deref(), Some(note));
        let every = rows(&all, limit(0.0));
        assert_eq!((every.rows.len(), every.left_out), (4, None));
        assert_eq!(rows(&[], limit(0.1)).rows, []);
        let limit = RowLimit {
            folded: Some(frame(&tables, "folded")),
            ..limit(0.15)
        };
        let folded = rows(&all, limit);
        assert_eq!((folded.rows.len(), folded.left_out), (4, None));
        let own: u64 = folded.rows.iter().map(|row| row.cost.own).sum();
        assert_eq!(own, 100);
    }

    #[test]
    fn pairs_of_methods_add_up_over_traces() {
        let tables = Tables::default();
        let mut table = ContextTable::default();
        let contexts: [(&[&str], u64, u64); 3] = [
            (&["b", "a", "x"], 2, 10),
            (&["b", "a", "y"], 3, 20),
            (&["a"], 7, 1),
        ];
        let all =
            contexts.map(|(names, calls, own)| cost((&mut table, &tables), names, calls, own));
        let (a, b) = (frame(&tables, "a"), frame(&tables, "b"));
        let rows = with_costs(&table, &all, |costs| {
            rows_by_calls(costs, 0.0, &tables.traces)
        });
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].0, rows[0].1.calls), ((a, None), 7));
        assert_eq!(rows[1].0, (b, Some(a)));
        assert_eq!((rows[1].1.calls, rows[1].1.total), (5, 60));
    }
}
