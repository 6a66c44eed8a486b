//! ALLOC SITES and HEAP SUMMARY: the stacks that allocated objects, and how many are alive.

use std::borrow::Cow;

use hprof_format::{
    AllocSite, AllocSitesRecord, BasicType, HeapSummaryRecord, LeftOut, Record,
    SITES_BY_ALLOCATION, SITES_FORCED_GC, SITES_INCREMENTAL, StandardErrors,
};
use memory::{Map, OrStop};

use crate::engines::allocations::sites::{Amount, SiteKey, Sites};
use crate::engines::folding::{Fold, Row, is_small};
use names::class::ClassId;
use names::frame::FrameId;
use names::trace::{TraceId, Traces};
use output::serials;
use output::{Entry, Journal};

/// A request for a report of sites.
#[derive(Clone, Copy, Debug, Default)]
pub struct SitesRequest {
    /// Rows are omitted or folded if each of their values is a smaller share of its total.
    pub cutoff: f64,
    /// The outermost frame of rows in which small rows are added up; `None` to omit those.
    pub folded: Option<FrameId>,
    /// `true` to order by allocated bytes instead of live ones.
    pub by_allocation: bool,
    /// `true` to report only sites that have changed since the last report.
    pub incremental: bool,
    /// `true` if the output ends with this report.
    pub is_last: bool,
}

/// Facts about the heap beyond the site table.
#[derive(Clone, Copy, Debug)]
pub struct HeapState<'a> {
    /// `true` if garbage was collected just before.
    pub collected: bool,
    /// Objects allocated before the agent could see them, by class.
    pub unseen: &'a [Unseen],
    /// `true` if their rows come last.
    pub unseen_last: bool,
    /// A line for the user about the precision of the numbers.
    pub note: Option<&'a str>,
    /// How far the totals may be off, if they are estimates.
    pub errors: Option<StandardErrors>,
}

/// Objects of a class whose allocation was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The class.
    pub class: ClassId,
    /// The live ones.
    pub live: Amount,
    /// Those not yet reported in a previous output.
    pub new: Amount,
}

/// The numbers of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SiteRow {
    live: Amount,
    allocated: Amount,
}

impl SiteRow {
    fn values(&self) -> [u64; 4] {
        let SiteRow { live, allocated } = *self;
        [
            live.bytes,
            live.instances,
            allocated.bytes,
            allocated.instances,
        ]
    }

    fn of([live_bytes, live, allocated_bytes, allocated]: [u64; 4]) -> SiteRow {
        let amount = |instances, bytes| Amount { instances, bytes };
        SiteRow {
            live: amount(live, live_bytes),
            allocated: amount(allocated, allocated_bytes),
        }
    }

    /// Returns `true` if each value is a smaller share of the total than the cutoff.
    fn is_below(&self, cutoff: f64, total: &SiteRow) -> bool {
        is_small(&self.values(), &total.values(), cutoff)
    }
}

/// The rows of a report, and the sum of those omitted.
struct SiteSelection {
    total: SiteRow,
    rows: Vec<(SiteKey, SiteRow)>,
    /// The sum of the rows below the cutoff; `None` if there are none.
    left_out: Option<LeftOut<4>>,
}

/// The note about the rows with the empty trace, if the VM was already running when the profile began.
const UNSEEN_LAST: &str =
    "trace 300000, in the last rows: what is alive and was there before the profile began";

/// Writes both records. Nothing is reset: sites cover the whole output.
pub fn sites(journal: &Journal, sites: &Sites, request: SitesRequest, state: HeapState<'_>) {
    journal.entry(|entry| {
        let rows = rows(sites, request, state.unseen);
        let is_last = |key: SiteKey| state.unseen_last && key.trace == TraceId::EMPTY;
        let SiteSelection {
            total,
            rows,
            left_out,
        } = select(rows, request, &entry.tables.traces, is_last);
        for (key, _) in &rows {
            entry.trace(key.trace);
            entry.class(key.class);
        }
        if let Some(note) = state.note {
            entry.note(note);
        }
        if let Some(errors) = state.errors {
            entry.note(&errors.note());
        }
        if let Some(left_out) = left_out {
            entry.note(&left_out.note_of_sites(request.cutoff));
        }
        if rows.last().is_some_and(|&(key, _)| is_last(key)) {
            entry.note(UNSEEN_LAST);
        }
        let sites = rows
            .iter()
            .map(|&(key, row)| alloc_site(entry, key, row))
            .collect();
        entry.records.write(&Record::HeapSummary(HeapSummaryRecord {
            live_bytes: total.live.bytes,
            live_instances: total.live.instances,
            allocated_bytes: total.allocated.bytes,
            allocated_instances: total.allocated.instances,
        }));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the record has 32 bits for it"
        )]
        let cutoff = request.cutoff as f32;
        entry.records.write(&Record::AllocSites(AllocSitesRecord {
            flags: flags(request, state),
            cutoff,
            live_bytes: total.live.bytes,
            live_instances: total.live.instances,
            allocated_bytes: total.allocated.bytes,
            allocated_instances: total.allocated.instances,
            sites: Cow::Owned(sites),
        }));
    });
}

/// Writes only HEAP SUMMARY; `unseen` is the amount in the heap that the site table does not cover.
pub fn heap_summary(journal: &Journal, sites: &Sites, unseen: Amount) {
    journal.entry(|entry| {
        let (live, allocated) = sites
            .iter()
            .fold((unseen, unseen), |(live, allocated), (_, site)| {
                (live + site.live(), allocated + site.allocated())
            });
        entry.records.write(&Record::HeapSummary(HeapSummaryRecord {
            live_bytes: live.bytes,
            live_instances: live.instances,
            allocated_bytes: allocated.bytes,
            allocated_instances: allocated.instances,
        }));
    });
}

fn rows(sites: &Sites, request: SitesRequest, unseen: &[Unseen]) -> Vec<(SiteKey, SiteRow)> {
    let incremental = request.incremental;
    // The memory for the list, the omitted rows, and the record with its encoding.
    const ROW: usize = 6 * size_of::<(SiteKey, SiteRow)>();
    memory::need((sites.count() + unseen.len()) * ROW);
    let mut rows = Map::<SiteKey, SiteRow>::default();
    for (key, site) in sites.iter() {
        let has_changed = site.take_change();
        if has_changed || !incremental {
            let row = SiteRow {
                live: site.live(),
                allocated: match request.is_last {
                    true => site.take_allocated(),
                    false => site.allocated(),
                },
            };
            // A site that has forgotten everything has nothing to report.
            if row != SiteRow::default() {
                rows.insert(key, row).or_stop();
            }
        }
    }
    // Objects allocated where the stack had no frames share the trace with those whose allocation was not seen.
    for unseen in unseen.iter().filter(|_| !incremental) {
        let key = SiteKey {
            class: unseen.class,
            trace: TraceId::EMPTY,
        };
        let row = rows.get_or_default(key).or_stop();
        row.live = row.live + unseen.live;
        row.allocated = row.allocated + unseen.new;
    }
    rows.into_iter().collect()
}

/// Returns the sum of all rows, and those above the cutoff or with the others folded, largest first, except for those that come last. Ties are
/// ordered by the other amount, then by number, so that equal runs give equal files.
fn select(
    mut rows: Vec<(SiteKey, SiteRow)>,
    request: SitesRequest,
    traces: &Traces,
    is_last: impl Fn(SiteKey) -> bool,
) -> SiteSelection {
    let sizes = |row: &SiteRow| match request.by_allocation {
        true => (row.allocated.bytes, row.live.bytes),
        false => (row.live.bytes, row.allocated.bytes),
    };
    let total = sum(&rows);
    if let Some(folded) = request.folded {
        fold_small(&mut rows, &total, request.cutoff, folded, traces);
    }
    // Then nothing is left to omit.
    let is_cut = |row: &SiteRow| request.folded.is_none() && row.is_below(request.cutoff, &total);
    rows.sort_unstable_by_key(|(key, row)| {
        let largest_first = std::cmp::Reverse(sizes(row));
        let place = (is_cut(row), is_last(*key));
        (place, largest_first, key.trace, key.class)
    });
    let cut = rows.split_off(rows.partition_point(|(_, row)| !is_cut(row)));
    SiteSelection {
        total,
        rows,
        left_out: (!cut.is_empty()).then(|| LeftOut {
            rows: cut.len() as u64,
            values: sum(&cut).values(),
        }),
    }
}

/// Adds small rows up under shorter stacks. A row that has no stack stays as it is.
fn fold_small(
    rows: &mut Vec<(SiteKey, SiteRow)>,
    total: &SiteRow,
    cutoff: f64,
    folded: FrameId,
    traces: &Traces,
) {
    let is_folded = |&mut (key, row): &mut (SiteKey, SiteRow)| {
        key.trace != TraceId::EMPTY && row.is_below(cutoff, total)
    };
    let small = rows.extract_if(.., is_folded).map(|(key, row)| Row {
        class: Some(key.class),
        trace: key.trace,
        values: row.values(),
    });
    let small = small.collect();
    let rule = Fold {
        totals: total.values(),
        cutoff,
        folded,
    };
    let sums = rule.rows(small, traces).into_iter();
    rows.extend(sums.filter_map(|sum| {
        let (class, trace) = (sum.class?, sum.trace);
        Some((SiteKey { class, trace }, SiteRow::of(sum.values)))
    }));
}

fn sum(rows: &[(SiteKey, SiteRow)]) -> SiteRow {
    let amounts = rows.iter().map(|&(_, row)| row);
    amounts.fold(SiteRow::default(), |sum, row| SiteRow {
        live: sum.live + row.live,
        allocated: sum.allocated + row.allocated,
    })
}

fn flags(request: SitesRequest, state: HeapState<'_>) -> u16 {
    let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
    flag(request.incremental, SITES_INCREMENTAL)
        | flag(request.by_allocation, SITES_BY_ALLOCATION)
        | flag(state.collected, SITES_FORCED_GC)
}

fn alloc_site(entry: &Entry<'_>, key: SiteKey, row: SiteRow) -> AllocSite {
    let class = entry.tables.classes.get(key.class);
    AllocSite {
        array_of: BasicType::of_array_class(entry.tables.strings.get(class.name)),
        class: serials::class(key.class),
        trace: serials::trace(key.trace),
        live_bytes: row.live.bytes,
        live_instances: row.live.instances,
        allocated_bytes: row.allocated.bytes,
        allocated_instances: row.allocated.instances,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::allocations::sites::Weight;
    use names::Tables;
    use names::loader::LoaderId;
    use names::object::ObjectId;
    use names::trace::TraceKey;

    /// Creates sites of one class each, from pairs of (objects of 16 bytes allocated, of them dead).
    fn some_sites(made_and_dead: &[(u64, u64)]) -> (Tables, Sites, Vec<SiteKey>) {
        let tables = Tables::default();
        let sites = Sites::default();
        let keys = made_and_dead
            .iter()
            .enumerate()
            .map(|(index, &(made, dead))| {
                let name = tables.strings.intern(&format!("C{index}"));
                let class = tables
                    .classes
                    .intern(LoaderId::BOOT, name, || ObjectId(1))
                    .id();
                let key = SiteKey {
                    class,
                    trace: TraceId::EMPTY,
                };
                let site = sites.intern(key);
                (0..made).for_each(|_| sites.get(site).add_allocated(Weight::exact(16)));
                (0..dead).for_each(|_| sites.get(site).add_dead(Weight::exact(16)));
                key
            });
        let keys = keys.collect();
        (tables, sites, keys)
    }

    fn chosen(sites: &Sites, request: SitesRequest, unseen: &[Unseen]) -> (SiteRow, Vec<SiteKey>) {
        let rows = rows(sites, request, unseen);
        let SiteSelection { total, rows, .. } =
            select(rows, request, &Traces::default(), |_| false);
        (total, rows.into_iter().map(|(key, _)| key).collect())
    }

    #[test]
    fn live_bytes_decide_unless_allocated_ones_are_asked_for() {
        let (_, sites, keys) = some_sites(&[(10, 10), (5, 1), (6, 0)]);
        let (total, by_live) = chosen(&sites, SitesRequest::default(), &[]);
        assert_eq!(
            total.live,
            Amount {
                instances: 10,
                bytes: 160
            }
        );
        assert_eq!(
            total.allocated,
            Amount {
                instances: 21,
                bytes: 336
            }
        );
        assert_eq!(by_live, [keys[2], keys[1], keys[0]]);
        let request = SitesRequest {
            by_allocation: true,
            ..Default::default()
        };
        assert_eq!(chosen(&sites, request, &[]).1, [keys[0], keys[2], keys[1]]);
    }

    #[test]
    fn what_is_below_the_cutoff_is_left_out_but_counted() {
        let (_, sites, keys) = some_sites(&[(90, 0), (9, 0), (1, 0)]);
        let request = SitesRequest {
            cutoff: 0.09,
            ..Default::default()
        };
        let (total, rows) = chosen(&sites, request, &[]);
        assert_eq!((total.live.instances, rows), (100, vec![keys[0], keys[1]]));
    }

    #[test]
    fn what_is_left_out_is_told() {
        let (_tables, sites, _) = some_sites(&[(90, 0), (9, 8), (1, 0)]);
        let request = SitesRequest {
            cutoff: 0.1,
            ..Default::default()
        };
        let rows = rows(&sites, SitesRequest::default(), &[]);
        let left_out = select(rows.clone(), request, &Traces::default(), |_| false).left_out;
        let left_out = left_out.expect("two rows are cut off");
        assert_eq!((left_out.rows, left_out.values), (2, [32, 2, 160, 10]));
        let all = select(rows, SitesRequest::default(), &Traces::default(), |_| false).left_out;
        assert_eq!(all, None);
    }

    #[test]
    fn a_row_stays_that_has_its_share_of_any_value() {
        let cutoff = 0.1;
        let request = SitesRequest {
            cutoff,
            ..Default::default()
        };
        let (_tables, sites, keys) = some_sites(&[(10, 0), (980, 980), (10, 10)]);
        assert_eq!(chosen(&sites, request, &[]).1, [keys[0], keys[1]]);
        let (_tables, garbage, keys) = some_sites(&[(980, 980), (10, 10)]);
        assert_eq!(chosen(&garbage, request, &[]).1, [keys[0]]);

        let amount = |instances, bytes| Amount { instances, bytes };
        let row = |live, allocated| SiteRow { live, allocated };
        let total = row(amount(100, 1000), amount(1000, 10_000));
        for (row, is_below) in [
            (row(amount(9, 99), amount(99, 999)), true),
            (row(amount(10, 0), amount(0, 0)), false),
            (row(amount(0, 100), amount(0, 0)), false),
            (row(amount(0, 0), amount(100, 0)), false),
            (row(amount(0, 0), amount(0, 1000)), false),
        ] {
            assert_eq!(row.is_below(cutoff, &total), is_below, "{row:?}");
            assert!(!row.is_below(0.0, &total), "{row:?}");
        }
    }

    #[test]
    fn what_comes_last_keeps_its_order_and_is_cut_off_alike() {
        let (_tables, sites, keys) = some_sites(&[(2, 0), (90, 0), (7, 0), (40, 0), (1, 0)]);
        let request = SitesRequest {
            cutoff: 0.02,
            ..Default::default()
        };
        let is_last = |key: SiteKey| [keys[1], keys[3], keys[4]].contains(&key);
        let rows = rows(&sites, SitesRequest::default(), &[]);
        let selected = select(rows, request, &Traces::default(), is_last).rows;
        let selected: Vec<SiteKey> = selected.into_iter().map(|(key, _)| key).collect();
        assert_eq!(selected, [keys[2], keys[1], keys[3]]);
    }

    #[test]
    fn small_rows_are_folded_and_those_without_a_stack_stay() {
        let tables = Tables::default();
        let folded = FrameId::numbered(9);
        let trace = |numbers: &[u32]| {
            let frames: Vec<FrameId> = numbers
                .iter()
                .map(|&number| FrameId::numbered(number))
                .collect();
            tables.traces.intern(TraceKey {
                thread: None,
                frames: &frames,
            })
        };
        let (_, _, keys) = some_sites(&[(1, 0), (1, 0)]);
        let (one, other) = (keys[0].class, keys[1].class);
        let row = |class, trace, bytes| {
            let amount = Amount {
                instances: bytes,
                bytes,
            };
            let row = SiteRow {
                live: amount,
                allocated: amount,
            };
            (SiteKey { class, trace }, row)
        };
        let rows = vec![
            row(one, trace(&[1, 2]), 900),
            row(one, trace(&[1, 3]), 60),
            row(one, trace(&[1, 4]), 60),
            row(other, trace(&[1, 4]), 5),
            row(other, TraceId::EMPTY, 1),
        ];
        let request = SitesRequest {
            cutoff: 0.1,
            folded: Some(folded),
            ..Default::default()
        };
        let selected = select(rows, request, &tables.traces, |_| false);
        assert_eq!(selected.left_out, None);
        let expected = [
            row(one, trace(&[1, 2]), 900),
            row(one, trace(&[1, 9]), 120),
            row(other, trace(&[9]), 5),
            row(other, TraceId::EMPTY, 1),
        ];
        assert_eq!(selected.rows, expected);
    }

    #[test]
    fn what_was_there_before_is_a_site_of_its_own() {
        let (tables, sites, keys) = some_sites(&[(2, 0)]);
        let other = ClassId::clone(
            &tables
                .classes
                .intern(LoaderId::BOOT, tables.strings.intern("Other"), || {
                    ObjectId(1)
                })
                .id(),
        );
        let unseen = |class, instances, bytes| {
            let amount = Amount { instances, bytes };
            Unseen {
                class,
                live: amount,
                new: amount,
            }
        };
        let unseen = [unseen(keys[0].class, 1, 16), unseen(other, 9, 900)];
        let (total, rows) = chosen(&sites, SitesRequest::default(), &unseen);
        assert_eq!(
            total.live,
            Amount {
                instances: 12,
                bytes: 948
            }
        );
        assert_eq!(
            rows,
            [
                SiteKey {
                    class: other,
                    trace: TraceId::EMPTY
                },
                keys[0]
            ]
        );
    }

    #[test]
    fn an_incremental_report_has_what_changed() {
        let (_, sites, keys) = some_sites(&[(1, 0), (1, 0)]);
        let request = SitesRequest {
            incremental: true,
            ..Default::default()
        };
        assert_eq!(chosen(&sites, request, &[]).1.len(), 2);
        assert_eq!(chosen(&sites, request, &[]).1, []);
        sites.get(sites.intern(keys[1])).add_dead(Weight::exact(16));
        assert_eq!(chosen(&sites, request, &[]).1, [keys[1]]);
    }
}
