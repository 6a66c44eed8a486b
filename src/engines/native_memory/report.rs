//! NATIVE SITES: the stacks by the native memory that they hold.

use std::sync::Arc;

use hprof_format::{
    NativeAmounts, NativeErrors, NativeSite, NativeSites, Section as FormatSection,
};

use super::sites::{Estimate, MallocAmount, MallocAmounts, OLD};
use crate::engines::folding::{Fold, Row, is_small};
use names::frame::FrameId;
use output::{Journal, serials};

/// The number of columns: the amounts, and the variance of the live bytes.
const COLUMNS: usize = 7;

/// The section, without its rows.
pub(super) struct Section {
    pub(super) interval: u32,
    /// The number of samples that were lost, or whose blocks are not tracked.
    pub(super) untracked: u64,
    /// The library that has `malloc`, such as `libc.so.6`; `None` if nothing was sampled.
    pub(super) malloc_library: Option<Arc<str>>,
    /// Rows are omitted, or with `folded` added up, if each of their values is a smaller share of its total.
    pub(super) cutoff: f64,
    pub(super) folded: Option<FrameId>,
}

impl Section {
    pub(super) fn write(self, journal: &Journal, amounts: MallocAmounts) {
        let MallocAmounts { totals, by_trace } = amounts;
        journal.entry(|entry| {
            let rows = by_trace.into_iter();
            let rows = rows.map(|(trace, amount)| Row {
                class: None,
                trace,
                values: values(amount),
            });
            let mut limits = values(totals);
            // An error alone makes no row large.
            limits[COLUMNS - 1] = u64::MAX;
            let is_small = |row: &Row<COLUMNS>| is_small(&row.values, &limits, self.cutoff);
            let (small, mut rows): (Vec<_>, Vec<_>) = rows.partition(is_small);
            if let Some(folded) = self.folded {
                let traces = &entry.tables.traces;
                let rule = Fold {
                    totals: limits,
                    cutoff: self.cutoff,
                    folded,
                };
                rows.extend(rule.rows(small, traces));
            }
            // What is equal stays in the order of the traces.
            memory::sort_by_numbers(&mut rows, |row| [row.trace.index().into(), 0]);
            memory::sort_by_numbers(&mut rows, |row| {
                let [live, _, _, _, allocated, ..] = row.values;
                [!live, !allocated]
            });
            for row in &rows {
                entry.trace(row.trace);
            }
            if let Some(library) = &self.malloc_library {
                entry.note(&format!("NATIVE SITES are those of malloc in {library}"));
            }
            if self.untracked > 0 {
                let untracked = self.untracked;
                entry.note(&format!(
                    "NATIVE SITES are not complete: {untracked} samples came too fast, and count as allocated only"
                ));
            }
            let rows = rows.iter().map(|row| NativeSite {
                amounts: amounts_of(row.values),
                live_error: whole((row.values[COLUMNS - 1] as f64).sqrt()),
                trace: serials::trace(row.trace),
            });
            let error = |estimate: Estimate| whole(estimate.variance.sqrt());
            let sites = NativeSites {
                totals: amounts_of(values(totals)),
                errors: NativeErrors {
                    live: error(totals.live),
                    old: error(totals.old),
                    allocated: error(totals.allocated),
                },
                old: OLD.as_secs(),
                interval: self.interval.into(),
                rows: rows.collect(),
            };
            entry.section(&FormatSection::NativeSites(sites));
        });
    }
}

fn values(amount: MallocAmount) -> [u64; COLUMNS] {
    let MallocAmount {
        live,
        old,
        allocated,
    } = amount;
    [
        live.bytes,
        live.blocks,
        old.bytes,
        old.blocks,
        allocated.bytes,
        allocated.blocks,
        live.variance,
    ]
    .map(whole)
}

fn amounts_of(values: [u64; COLUMNS]) -> NativeAmounts {
    let [
        live_bytes,
        live_blocks,
        old_bytes,
        old_blocks,
        allocated_bytes,
        allocated_blocks,
        _,
    ] = values;
    NativeAmounts {
        live_bytes,
        live_blocks,
        old_bytes,
        old_blocks,
        allocated_bytes,
        allocated_blocks,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates are positive, and the cast saturates"
)]
fn whole(estimate: f64) -> u64 {
    estimate.round() as u64
}
