//! The page about the memory of the process.

use hprof_footprint::{Account, Amounts, Part, verdict};

use super::chart::mark;
use super::watch::Seen;
use crate::accounts;
use crate::amounts::{percent, size, time};

const MINUTE: f64 = 60e3;

/// A part of the process.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRow {
    /// Bytes in RAM, their share in percent, bytes committed, and bytes a minute by which it has grown.
    pub values: [f64; 4],
    /// Its letter in the chart.
    pub mark: char,
    /// Its name.
    pub name: &'static str,
}

/// Returns how large the process is, and how often and at which cost that is looked at.
pub fn summary(seen: &Seen) -> String {
    let Some(last) = seen.course.last() else {
        let reason = seen.failure.as_deref().unwrap_or("not looked at yet");
        return format!("unknown: {reason}");
    };
    let cost = seen.cost.map(|cost| {
        let share = 100.0 * cost.as_secs_f64() / seen.period.as_secs_f64().max(f64::MIN_POSITIVE);
        format!(", {share:.2} % of a CPU")
    });
    format!(
        "a look every {}{}; {}",
        time(seen.period.as_secs_f64()),
        cost.unwrap_or_default(),
        accounts::headline(last)
    )
}

/// Returns what the looks mean, the most important first, and what counts against the limit.
pub fn verdict_lines(seen: &Seen) -> Vec<String> {
    let Some((first, last)) = seen.course.first().zip(seen.course.last()) else {
        return Vec::new();
    };
    let findings = verdict(Some(first), last);
    let findings = findings.iter().map(accounts::sentence);
    let forecasts = seen.course.forecasts();
    let forecasts = forecasts.iter().filter_map(accounts::forecast);
    let swapped = last.swapped.filter(|&bytes| bytes > 0);
    let swapped = swapped.map(|bytes| format!("swapped out: {}", size(bytes)));
    let failure = seen.failure.as_ref();
    let failure = failure.map(|reason| format!("the last update failed: {reason}"));
    findings
        .chain(forecasts)
        .chain(swapped)
        .chain(failure)
        .collect()
}

/// Returns a row for each part that there is.
pub fn rows(seen: &Seen) -> Vec<PartRow> {
    let Some((first, last)) = seen.course.first().zip(seen.course.last()) else {
        return Vec::new();
    };
    let resident = last.resident();
    let rows = last
        .parts
        .iter()
        .filter(|(_, amounts)| amounts.resident > 0);
    rows.map(|(part, amounts)| PartRow {
        values: [
            amounts.resident as f64,
            percent(amounts.resident, resident),
            amounts.committed as f64,
            growth(first, last, part),
        ],
        mark: mark(part),
        name: part.name(),
    })
    .collect()
}

/// Returns how the part is known whose row has this name.
pub fn basis(name: &str) -> Option<&'static str> {
    let part = Part::ALL.into_iter().find(|part| part.name() == name)?;
    Some(part.basis())
}

/// Returns the bytes a minute by which a part has grown.
fn growth(first: &Account, last: &Account, part: Part) -> f64 {
    let length = last.time.saturating_sub(first.time) as f64;
    let bytes = |account: &Account| {
        let Amounts { resident, .. } = account.parts[part];
        resident as f64
    };
    match length > 0.0 {
        true => (bytes(last) - bytes(first)) * MINUTE / length,
        false => 0.0,
    }
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use hprof_footprint::{Cgroup, JavaHeap};

    use super::*;

    /// A process a minute ago and now, whose direct buffers grow.
    pub fn seen() -> Seen {
        let mut seen = Seen {
            period: Duration::from_secs(2),
            cost: Some(Duration::from_millis(2)),
            ..Seen::default()
        };
        for (time, direct) in [(0, 100), (60_000, 400)] {
            let mut account = Account {
                time,
                swapped: Some(2_000_000),
                ..Account::default()
            };
            for (part, megabytes) in [(Part::JavaHeap, 100), (Part::DirectBuffers, direct)] {
                account.parts[part] = Amounts {
                    committed: 120_000_000,
                    resident: megabytes * 1_000_000,
                };
            }
            account.vm.direct = Some(direct * 1_000_000);
            account.vm.heap = Some(JavaHeap {
                used: 50_000_000,
                committed: 120_000_000,
                limit: 400_000_000,
                after_collection: Some(40_000_000),
            });
            account.cgroup = Some(Cgroup {
                limit: Some(1_000_000_000),
                used: Some(520_000_000),
                ..Cgroup::default()
            });
            seen.course.push(account);
        }
        seen
    }

    #[test]
    fn the_page_says_what_it_costs_and_what_it_means() {
        let seen = seen();
        assert_eq!(
            summary(&seen),
            "a look every 2.00 s, 0.10 % of a CPU; 500.0 MB resident; 520.0 MB of a limit of 1.0 GB: Java heap 50.0 MB used of \
             120.0 MB committed, direct buffers 400.0 MB"
        );
        assert_eq!(
            verdict_lines(&seen),
            [
                "direct buffers: 400.0 MB, grown from 100.0 MB to 400.0 MB, 300.0 MB a minute",
                "cannot tell yet when the heap is full: 1 collection in 0 s show no steady growth",
                "cannot tell yet when the limit is reached: 2 looks in 60.0 s show no steady growth",
                "swapped out: 2.0 MB",
            ]
        );
        let rows = rows(&seen);
        assert_eq!(rows[1].values, [4e8, 80.0, 1.2e8, 3e8]);
        assert_eq!((rows[1].mark, rows[1].name), ('D', "direct buffers"));
        assert!(basis(rows[1].name).is_some_and(|basis| basis.contains("java.nio")));
    }

    #[test]
    fn nothing_is_claimed_without_a_look() {
        let none = Seen {
            failure: Some("no agent".to_owned()),
            ..Seen::default()
        };
        assert_eq!(summary(&none), "unknown: no agent");
        assert_eq!(summary(&Seen::default()), "unknown: not looked at yet");
        assert!(verdict_lines(&none).is_empty() && rows(&none).is_empty());
    }
}
