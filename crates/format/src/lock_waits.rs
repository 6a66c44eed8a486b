//! LOCK WAITS: who waited for which lock, and who held it then, from samples.
//!
//! The section has a form of its own only in text. A binary file has it as a note ([`Section`](crate::Section)).

use std::fmt::Write;

use crate::record::{ClassSerial, TraceSerial};

/// The text before the facts in a note.
const START: &str = "LOCK WAITS (";
/// The text after a class that has an `@` in its name, if the lock has no identity.
const NO_IDENTITY: &str = "@-";

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockWaits {
    /// The samples of all rows, including those that are left out.
    pub total: u64,
    /// The time between two samples of a thread, in milliseconds.
    pub interval: u64,
    /// The samples whose holder is known.
    pub known: u64,
    /// The rows, those with most samples first.
    pub rows: Vec<LockWait>,
}

/// How often threads that had a stack waited for a lock, while another thread held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The number of samples.
    pub count: u64,
    /// The stack of the waiting threads.
    pub trace: TraceSerial,
    /// The stack of the thread that held the lock; `None` if it is not known.
    pub holder: Option<TraceSerial>,
    /// The class of the lock.
    pub class: ClassSerial,
    /// The identity hash code of the lock; `None` for several locks.
    pub identity: Option<u32>,
}

impl LockWaits {
    /// Formats the facts in the section's first line.
    pub(crate) fn facts(&self) -> String {
        let (total, interval, known) = (self.total, self.interval, self.known);
        format!("total = {total}, interval = {interval} ms, holder known = {known})")
    }

    /// Parses the text of [`LockWaits::facts`]; returns the rest of the line, too.
    pub(crate) fn parse_facts(text: &str) -> Option<(LockWaits, &str)> {
        let (total, rest) = text.strip_prefix("total = ")?.split_once(", interval = ")?;
        let (interval, rest) = rest.split_once(" ms, holder known = ")?;
        let (known, rest) = rest.split_once(')')?;
        let waits = LockWaits {
            total: total.parse().ok()?,
            interval: interval.parse().ok()?,
            known: known.parse().ok()?,
            rows: Vec::new(),
        };
        Some((waits, rest))
    }

    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = format!("{START}{}", self.facts());
        for row in &self.rows {
            let (count, trace, class) = (row.count, row.trace, row.class);
            let holder = row.holder.unwrap_or_default();
            let _ = write!(note, "\n{count} {trace} {holder} {class}");
            if let Some(identity) = row.identity {
                let _ = write!(note, "@{identity:x}");
            }
        }
        note
    }

    /// Parses the text of [`LockWaits::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<LockWaits> {
        let mut lines = note.strip_prefix(START)?.split('\n');
        let (mut waits, rest) = LockWaits::parse_facts(lines.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        for line in lines {
            let mut columns = line.splitn(4, ' ');
            let count = columns.next()?.parse().ok()?;
            let trace = TraceSerial(columns.next()?.parse().ok()?);
            let holder = LockWait::parse_holder(columns.next()?)?;
            let (class, identity) = LockWait::parse_lock(columns.next()?);
            let class = ClassSerial(class.parse().ok()?);
            waits.rows.push(LockWait {
                count,
                trace,
                holder,
                class,
                identity,
            });
        }
        Some(waits)
    }
}

impl LockWait {
    /// Parses the number of a trace; 0 is none.
    pub(crate) fn parse_holder(text: &str) -> Option<Option<TraceSerial>> {
        let serial = text.parse().ok()?;
        Some((serial != 0).then_some(TraceSerial(serial)))
    }

    /// Returns the text after the class of the lock: its identity, as in `Desk@1b2c3d`. The name of a class may have an `@`
    /// itself; `@-` then says that the lock has none.
    pub(crate) fn ending(&self, class: &str) -> String {
        match self.identity {
            Some(identity) => format!("@{identity:x}"),
            None if class.contains('@') => NO_IDENTITY.to_owned(),
            None => String::new(),
        }
    }

    /// Splits a lock, such as `Desk@1b2c3d`, into its class and its identity.
    pub(crate) fn parse_lock(text: &str) -> (&str, Option<u32>) {
        if let Some(class) = text.strip_suffix(NO_IDENTITY) {
            return (class, None);
        }
        let parts = text.rsplit_once('@').and_then(|(class, identity)| {
            Some((class, Some(u32::from_str_radix(identity, 16).ok()?)))
        });
        parts.unwrap_or((text, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let row = |count, holder, identity| LockWait {
            count,
            trace: TraceSerial(300_001),
            holder,
            class: ClassSerial(100_001),
            identity,
        };
        let waits = LockWaits {
            total: u64::MAX,
            interval: 10,
            known: 7,
            rows: vec![
                row(7, Some(TraceSerial(300_002)), Some(u32::MAX)),
                row(1, None, None),
            ],
        };
        assert_eq!(LockWaits::of_note(&waits.note()), Some(waits));
        let none = LockWaits::default();
        assert_eq!(LockWaits::of_note(&none.note()), Some(none));
    }

    #[test]
    fn a_class_with_any_name_is_no_identity() {
        for class in ["Desk", "Desk@1b2c", "Desk@", "Desk@-", "@-@1"] {
            for identity in [None, Some(0x1b2c)] {
                let wait = LockWait {
                    count: 1,
                    trace: TraceSerial(1),
                    holder: None,
                    class: ClassSerial(1),
                    identity,
                };
                let text = format!("{class}{}", wait.ending(class));
                assert_eq!(LockWait::parse_lock(&text), (class, identity), "{text}");
            }
        }
    }

    #[test]
    fn a_damaged_note_is_none() {
        for note in [
            "LOCK WAITS (total = 1, interval = x ms, holder known = 1)",
            "LOCK WAITS (total = 1, interval = 10 ms, holder known = 1) more",
            "LOCK WAITS (total = 1, interval = 10 ms, holder known = 1)\n5 300001 0",
            "LOCK WAITS (total = 1, interval = 10 ms, holder known = 1)\n5 300001 x 100001@1",
            "LOCK WAITS (total = 1, interval = 10 ms, holder known = 1)\n5 300001 0 class",
            "left out",
        ] {
            assert_eq!(LockWaits::of_note(note), None, "{note}");
        }
    }
}
