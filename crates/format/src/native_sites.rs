//! NATIVE SITES: the memory that native code allocates and has not freed, by stack.
//!
//! The section has a form of its own only in text. A binary file has it as a note ([`Section`](crate::Section)).

use std::fmt::Write;

use crate::record::TraceSerial;

/// The text before the facts in a note.
const START: &str = "NATIVE SITES (";

/// The section. All amounts are estimates from samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSites {
    /// The amounts of all rows, including those that are left out.
    pub totals: NativeAmounts,
    /// The standard errors of the bytes of the totals.
    pub errors: NativeErrors,
    /// The age from which on a block is old, in seconds.
    pub old: u64,
    /// The mean number of bytes between two samples.
    pub interval: u64,
    /// The rows, those with most live bytes first.
    pub rows: Vec<NativeSite>,
}

/// What was allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeAmounts {
    /// The bytes that have not been freed.
    pub live_bytes: u64,
    /// The blocks that have not been freed.
    pub live_blocks: u64,
    /// The bytes of those that are old.
    pub old_bytes: u64,
    /// Their number.
    pub old_blocks: u64,
    /// All bytes that were allocated.
    pub allocated_bytes: u64,
    /// All blocks.
    pub allocated_blocks: u64,
}

/// The standard errors of amounts of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeErrors {
    /// That of the live bytes.
    pub live: u64,
    /// That of the old bytes.
    pub old: u64,
    /// That of the allocated bytes.
    pub allocated: u64,
}

/// The memory that was allocated with a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeSite {
    /// How much.
    pub amounts: NativeAmounts,
    /// The standard error of the live bytes.
    pub live_error: u64,
    /// The stack.
    pub trace: TraceSerial,
}

impl NativeAmounts {
    /// Returns the sum of two amounts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (own, other) = (self.words(), other.words());
        Self::of_words(std::array::from_fn(|at| own[at].saturating_add(other[at])))
    }

    /// Returns what is left of an amount without another; nothing of what the other has more.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let (own, other) = (self.words(), other.words());
        Self::of_words(std::array::from_fn(|at| own[at].saturating_sub(other[at])))
    }

    fn words(self) -> [u64; 6] {
        [
            self.live_bytes,
            self.live_blocks,
            self.old_bytes,
            self.old_blocks,
            self.allocated_bytes,
            self.allocated_blocks,
        ]
    }

    fn of_words(words: [u64; 6]) -> Self {
        let [
            live_bytes,
            live_blocks,
            old_bytes,
            old_blocks,
            allocated_bytes,
            allocated_blocks,
        ] = words;
        Self {
            live_bytes,
            live_blocks,
            old_bytes,
            old_blocks,
            allocated_bytes,
            allocated_blocks,
        }
    }
}

impl NativeSites {
    /// Formats the facts in the section's first line: bytes, blocks and the error of what is live, old and was allocated.
    pub(crate) fn facts(&self) -> String {
        let [
            live,
            live_blocks,
            old,
            old_blocks,
            allocated,
            allocated_blocks,
        ] = self.totals.words();
        let errors = &self.errors;
        format!(
            "live = {live} in {live_blocks} +- {}, old = {old} in {old_blocks} +- {}, \
             allocated = {allocated} in {allocated_blocks} +- {}, age = {} s, interval = {} bytes)",
            errors.live, errors.old, errors.allocated, self.old, self.interval
        )
    }

    /// Parses the text of [`NativeSites::facts`]; returns the rest of the line, too.
    pub(crate) fn parse_facts(text: &str) -> Option<(NativeSites, &str)> {
        let (live, text) = amount(text, "live = ")?;
        let (old, text) = amount(text, ", old = ")?;
        let (allocated, text) = amount(text, ", allocated = ")?;
        let (age, text) = number(text.strip_prefix(", age = ")?)?;
        let (interval, text) = number(text.strip_prefix(" s, interval = ")?)?;
        let sites = NativeSites {
            totals: NativeAmounts::of_words([
                live[0],
                live[1],
                old[0],
                old[1],
                allocated[0],
                allocated[1],
            ]),
            errors: NativeErrors {
                live: live[2],
                old: old[2],
                allocated: allocated[2],
            },
            old: age,
            interval,
            rows: Vec::new(),
        };
        Some((sites, text.strip_prefix(" bytes)")?))
    }

    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = format!("{START}{}", self.facts());
        for row in &self.rows {
            let _ = write!(note, "\n{}", row.columns());
        }
        note
    }

    /// Parses the text of [`NativeSites::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<NativeSites> {
        let mut lines = note.strip_prefix(START)?.split('\n');
        let (mut sites, rest) = NativeSites::parse_facts(lines.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        for line in lines {
            sites.rows.push(NativeSite::parse_columns(line.split(' '))?);
        }
        Some(sites)
    }
}

impl NativeSite {
    fn columns(&self) -> String {
        let [
            live,
            live_blocks,
            old,
            old_blocks,
            allocated,
            allocated_blocks,
        ] = self.amounts.words();
        format!(
            "{live} {live_blocks} {} {old} {old_blocks} {allocated} {allocated_blocks} {}",
            self.live_error, self.trace
        )
    }

    /// Parses the columns of a row: the amounts with the error of the live bytes, and the trace.
    pub(crate) fn parse_columns<'a>(words: impl Iterator<Item = &'a str>) -> Option<NativeSite> {
        let words: Vec<&str> = words.collect();
        let (trace, amounts) = words.split_last()?;
        let amounts: Option<Vec<u64>> = amounts.iter().map(|word| word.parse().ok()).collect();
        let &[
            live,
            live_blocks,
            live_error,
            old,
            old_blocks,
            allocated,
            allocated_blocks,
        ] = amounts?.as_slice()
        else {
            return None;
        };
        Some(NativeSite {
            amounts: NativeAmounts::of_words([
                live,
                live_blocks,
                old,
                old_blocks,
                allocated,
                allocated_blocks,
            ]),
            live_error,
            trace: TraceSerial(trace.parse().ok()?),
        })
    }
}

/// Parses `name = 1 in 2 +- 3`.
fn amount<'a>(text: &'a str, name: &str) -> Option<([u64; 3], &'a str)> {
    let (bytes, text) = number(text.strip_prefix(name)?)?;
    let (blocks, text) = number(text.strip_prefix(" in ")?)?;
    let (error, text) = number(text.strip_prefix(" +- ")?)?;
    Some(([bytes, blocks, error], text))
}

fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let amounts = |first: u64| {
            NativeAmounts::of_words([first, 2, u64::MAX, 4, 5, u64::from(u32::MAX) + 7])
        };
        let row = |first, trace| NativeSite {
            amounts: amounts(first),
            live_error: 77,
            trace: TraceSerial(trace),
        };
        let sites = NativeSites {
            totals: amounts(1 << 40),
            errors: NativeErrors {
                live: 9,
                old: 0,
                allocated: 1_000,
            },
            old: 10,
            interval: 524_288,
            rows: vec![row(1 << 40, 300_001), row(0, 300_002)],
        };
        assert_eq!(NativeSites::of_note(&sites.note()), Some(sites));
        let none = NativeSites::default();
        assert_eq!(NativeSites::of_note(&none.note()), Some(none));
    }

    #[test]
    fn a_damaged_note_is_none() {
        let whole = "NATIVE SITES (live = 1 in 1 +- 0, old = 0 in 0 +- 0, allocated = 1 in 1 +- 0, age = 10 s, \
                     interval = 9 bytes)\n1 1 0 0 0 1 1 300001";
        assert!(NativeSites::of_note(whole).is_some());
        for (from, to) in [
            ("live = 1", "live = x"),
            (", old", ", cold"),
            ("bytes)", "bytes) more"),
            ("\n1 1", "\n1 -1"),
            (" 300001", ""),
            (" 300001", " 1 300001"),
        ] {
            assert_eq!(NativeSites::of_note(&whole.replace(from, to)), None, "{to}");
        }
    }
}
