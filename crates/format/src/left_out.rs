//! What the rows of a section leave out, as the line before it says.

use crate::AllocSite;

/// The values of rows that are not in a section, because of each row every value is a smaller share than the cutoff.
///
/// The text format has no totals but the one that its percentages are shares of, and the binary format has none beyond
/// 2^32 - 1 for what is alive: with these, a reader knows what all rows add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut<const N: usize> {
    /// How many rows there are.
    pub rows: u64,
    /// The sum of each of their values.
    pub values: [u64; N],
}

/// What stands before the cutoff.
const START: &str = "left out below the cutoff of ";

/// Live bytes and objects, allocated bytes and objects.
const SITES: [&str; 4] = [
    "live bytes",
    "live objects",
    "allocated bytes",
    "allocated objects",
];
/// Time in whole milliseconds, and calls.
const CALL_TIMES: [&str; 2] = ["ms", "calls"];
/// Time in whole milliseconds, and how often threads waited.
const CONTENTIONS: [&str; 2] = ["ms", "contentions"];

impl LeftOut<4> {
    /// The line before ALLOC SITES; the values are live bytes and objects, allocated bytes and objects.
    #[must_use]
    pub fn note_of_sites(&self, cutoff: f64) -> String {
        self.note(cutoff, SITES)
    }

    /// What [`LeftOut::note_of_sites`] says.
    #[must_use]
    pub fn of_sites(note: &str) -> Option<LeftOut<4>> {
        LeftOut::parse(note, SITES)
    }

    /// What these sites and those that are left out add up to.
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
    /// The line before CPU TIME; the values are whole milliseconds and calls.
    #[must_use]
    pub fn note_of_call_times(&self, cutoff: f64) -> String {
        self.note(cutoff, CALL_TIMES)
    }

    /// What [`LeftOut::note_of_call_times`] says.
    #[must_use]
    pub fn of_call_times(note: &str) -> Option<LeftOut<2>> {
        LeftOut::parse(note, CALL_TIMES)
    }

    /// The line before MONITOR TIME; the values are whole milliseconds and how often threads waited.
    #[must_use]
    pub fn note_of_contentions(&self, cutoff: f64) -> String {
        self.note(cutoff, CONTENTIONS)
    }

    /// What [`LeftOut::note_of_contentions`] says.
    #[must_use]
    pub fn of_contentions(note: &str) -> Option<LeftOut<2>> {
        LeftOut::parse(note, CONTENTIONS)
    }
}

impl<const N: usize> LeftOut<N> {
    fn note(&self, cutoff: f64, units: [&str; N]) -> String {
        let values = self.values.iter().zip(units);
        let values: Vec<String> = values
            .map(|(value, unit)| format!("{value} {unit}"))
            .collect();
        format!(
            "{START}{cutoff}: {} rows with {}",
            self.rows,
            values.join(", ")
        )
    }

    fn parse(note: &str, units: [&str; N]) -> Option<LeftOut<N>> {
        let (_, rest) = note.strip_prefix(START)?.split_once(": ")?;
        let (rows, listed) = rest.split_once(" rows with ")?;
        let mut listed = listed.split(", ");
        let mut values = [0; N];
        for (value, unit) in values.iter_mut().zip(units) {
            let (number, its) = listed.next()?.split_once(' ')?;
            *value = (its == unit).then_some(number)?.parse().ok()?;
        }
        let rows = rows.parse().ok()?;
        listed.next().is_none().then_some(LeftOut { rows, values })
    }
}

/// Whether a note says what is left out: whoever adds what is left out to the rows has no use for the note.
#[must_use]
pub fn tells_what_is_left_out(note: &str) -> bool {
    note.starts_with(START)
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
        assert!(tells_what_is_left_out(&note));
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
