//! WALL SAMPLES: where threads spend the time that passes, whether they run or wait.
//!
//! The section has a form of its own only in text. A binary file has it as a note ([`Section`](crate::Section)).

use std::fmt::Write;

use crate::record::TraceSerial;

/// The text before the facts in a note.
const START: &str = "WALL SAMPLES (";

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WallSamples {
    /// The samples of all rows, including those that are left out.
    pub total: u64,
    /// The time between two samples of a thread, in milliseconds.
    pub interval: u64,
    /// The number of threads that were sampled; `None` if it is not known.
    pub threads: Option<u64>,
    /// The rows, those with most samples first.
    pub rows: Vec<WallSample>,
}

/// How often threads had a stack. Its innermost frame is their state, such as `java.lang.Thread.<parked>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallSample {
    /// The number of samples.
    pub count: u64,
    /// The stack.
    pub trace: TraceSerial,
}

impl WallSamples {
    /// Formats the facts in the section's first line.
    pub(crate) fn facts(&self) -> String {
        let (total, interval) = (self.total, self.interval);
        let threads = self
            .threads
            .map_or(String::new(), |threads| format!(", threads = {threads}"));
        format!("total = {total}, interval = {interval} ms{threads})")
    }

    /// Parses the text of [`WallSamples::facts`]; returns the rest of the line, too.
    pub(crate) fn parse_facts(text: &str) -> Option<(WallSamples, &str)> {
        let (total, rest) = text.strip_prefix("total = ")?.split_once(", interval = ")?;
        let (interval, rest) = rest.split_once(" ms")?;
        let (threads, rest) = rest.split_once(')')?;
        let threads = match threads {
            "" => None,
            threads => Some(threads.strip_prefix(", threads = ")?.parse().ok()?),
        };
        let samples = WallSamples {
            total: total.parse().ok()?,
            interval: interval.parse().ok()?,
            threads,
            rows: Vec::new(),
        };
        Some((samples, rest))
    }

    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = format!("{START}{}", self.facts());
        for WallSample { count, trace } in &self.rows {
            let _ = write!(note, "\n{count} {trace}");
        }
        note
    }

    /// Parses the text of [`WallSamples::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<WallSamples> {
        let mut lines = note.strip_prefix(START)?.split('\n');
        let (mut samples, rest) = WallSamples::parse_facts(lines.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        for line in lines {
            let (count, trace) = line.split_once(' ')?;
            samples.rows.push(WallSample {
                count: count.parse().ok()?,
                trace: TraceSerial(trace.parse().ok()?),
            });
        }
        Some(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let row = |count, trace| WallSample {
            count,
            trace: TraceSerial(trace),
        };
        let samples = WallSamples {
            total: u64::MAX,
            interval: 20,
            threads: Some(10_003),
            rows: vec![row(u64::from(u32::MAX) + 7, 300_001), row(1, 300_002)],
        };
        assert_eq!(WallSamples::of_note(&samples.note()), Some(samples));
        let none = WallSamples::default();
        assert_eq!(WallSamples::of_note(&none.note()), Some(none));
    }

    #[test]
    fn a_damaged_note_is_none() {
        for note in [
            "WALL SAMPLES (total = 1, interval = x ms, threads = 1)",
            "WALL SAMPLES (total = 1, interval = 20 ms, threads = 1) more",
            "WALL SAMPLES (total = 1, interval = 20 ms, thread = 1)",
            "WALL SAMPLES (total = 1, interval = 20 ms, threads = 1)\n5",
            "WALL SAMPLES (total = 1, interval = 20 ms, threads = 1)\n-1 300001",
            "left out",
        ] {
            assert_eq!(WallSamples::of_note(note), None, "{note}");
        }
    }
}
