//! The sum of the rows that a section omits, as stated in the line before it.

use crate::record::AllocSite;

/// The sums over the rows that a section omits, because each of their values is a smaller share than the cutoff.
///
/// The text format has only the total that its percentages refer to, and the binary format none beyond 2^32 - 1 for
/// live objects: with these sums, a reader knows the totals of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut<const N: usize> {
    /// The number of rows.
    pub rows: u64,
    /// The sum of each of their values.
    pub values: [u64; N],
}

/// The text before the cutoff.
const START: &str = "left out below the cutoff of ";

/// Live bytes and objects, allocated bytes and objects.
pub(crate) const SITES: [&str; 4] = [
    "live bytes",
    "live objects",
    "allocated bytes",
    "allocated objects",
];
/// Time in whole milliseconds, and calls.
const CALL_TIMES: [&str; 2] = ["ms", "calls"];
/// Time in whole milliseconds, and the number of waits.
const CONTENTIONS: [&str; 2] = ["ms", "contentions"];

impl LeftOut<4> {
    /// Formats the line before ALLOC SITES; the values are live bytes and objects, allocated bytes and objects.
    #[must_use]
    pub fn note_of_sites(&self, cutoff: f64) -> String {
        self.note(cutoff, SITES)
    }

    /// Parses the line of [`LeftOut::note_of_sites`].
    pub(crate) fn of_sites(note: &str) -> Option<LeftOut<4>> {
        LeftOut::parse(note, SITES)
    }

    /// Returns the totals of these sites and the omitted ones.
    #[must_use]
    pub fn with_sites(&self, sites: &[AllocSite]) -> [u64; 4] {
        sites.iter().fold(self.values, |sums, site| {
            let values = [
                site.live_bytes,
                site.live_instances,
                site.allocated_bytes,
                site.allocated_instances,
            ];
            std::array::from_fn(|at| values[at].saturating_add(sums[at]))
        })
    }
}

impl LeftOut<2> {
    /// Formats the line before CPU TIME; the values are whole milliseconds and calls.
    #[must_use]
    pub fn note_of_call_times(&self, cutoff: f64) -> String {
        self.note(cutoff, CALL_TIMES)
    }

    /// Parses the line of [`LeftOut::note_of_call_times`].
    pub(crate) fn of_call_times(note: &str) -> Option<LeftOut<2>> {
        LeftOut::parse(note, CALL_TIMES)
    }

    /// Formats the line before MONITOR TIME; the values are whole milliseconds and the number of waits.
    #[must_use]
    pub fn note_of_contentions(&self, cutoff: f64) -> String {
        self.note(cutoff, CONTENTIONS)
    }

    /// Parses the line of [`LeftOut::note_of_contentions`].
    pub(crate) fn of_contentions(note: &str) -> Option<LeftOut<2>> {
        LeftOut::parse(note, CONTENTIONS)
    }
}

impl<const N: usize> LeftOut<N> {
    fn note(&self, cutoff: f64, units: [&str; N]) -> String {
        let values = list(self.values, units);
        format!("{START}{cutoff}: {} rows with {values}", self.rows)
    }

    fn parse(note: &str, units: [&str; N]) -> Option<LeftOut<N>> {
        let (_, rest) = note.strip_prefix(START)?.split_once(": ")?;
        let (rows, listed) = rest.split_once(" rows with ")?;
        Some(LeftOut {
            rows: rows.parse().ok()?,
            values: values_of(listed, units)?,
        })
    }
}

/// Formats values with their units.
pub(crate) fn list<const N: usize>(values: [u64; N], units: [&str; N]) -> String {
    let values = values.iter().zip(units);
    let values: Vec<String> = values
        .map(|(value, unit)| format!("{value} {unit}"))
        .collect();
    values.join(", ")
}

/// Parses what [`list`] has formatted.
pub(crate) fn values_of<const N: usize>(listed: &str, units: [&str; N]) -> Option<[u64; N]> {
    let mut listed = listed.split(", ");
    let mut values = [0; N];
    for (value, unit) in values.iter_mut().zip(units) {
        let (number, its) = listed.next()?.split_once(' ')?;
        *value = (its == unit).then_some(number)?.parse().ok()?;
    }
    listed.next().is_none().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let sites = LeftOut {
            rows: 370,
            values: [20_336, 12, u64::MAX, 3000],
        };
        let note = sites.note_of_sites(0.0001);
        let expected = "left out below the cutoff of 0.0001: 370 rows with 20336 live bytes, 12 live objects, \
                        18446744073709551615 allocated bytes, 3000 allocated objects";
        assert_eq!(note, expected);
        assert_eq!(LeftOut::of_sites(&note), Some(sites));
        assert_eq!(LeftOut::of_call_times(&note), None);
        let times = LeftOut {
            rows: 1,
            values: [4, 5],
        };
        let note = times.note_of_call_times(0.5);
        assert_eq!(LeftOut::of_call_times(&note), Some(times));
        assert_eq!(LeftOut::of_contentions(&note), None);
        let note = times.note_of_contentions(0.5);
        assert_eq!(LeftOut::of_contentions(&note), Some(times));
    }

    #[test]
    fn any_other_note_says_nothing() {
        for note in [
            "",
            "sampled every 512 bytes",
            "left out below the cutoff of 0.1: 2 rows of 32 live and 160 allocated bytes",
            "left out below the cutoff of 0.1: 2 rows with 4 ms",
            "left out below the cutoff of 0.1: 2 rows with 4 ms, 5 calls, 6 calls",
            "left out below the cutoff of 0.1: 2 rows with 4 ms, -5 calls",
            "left out below the cutoff of 0.1: 2 rows with 4 ms, 99999999999999999999 calls",
        ] {
            assert_eq!(LeftOut::of_call_times(note), None, "{note}");
        }
    }
}
