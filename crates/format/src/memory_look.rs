//! Where the memory of the process was at a moment of the profile: notes of a text and of a binary file.

use std::time::Duration;

/// The beginning of a note, and what comes after the time.
const START: &str = "memory after ";
const RESIDENT: &str = " s: ";
const PARTS: &str = " bytes resident: ";
/// What is between two parts.
const COMMA: &str = ", ";
const LIMIT: &str = "; ";
const OF_LIMIT: &str = " of a limit of ";
const BYTES: &str = " bytes";

/// What a process had in RAM at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLook {
    /// The time since the profile began, in whole milliseconds.
    pub after: Duration,
    /// The parts, which add up to the resident set. A name has no number at its end.
    pub parts: Vec<MemoryPart>,
    /// The limit of the process's cgroup, if it has one.
    pub limit: Option<MemoryLimit>,
}

/// A part of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Its name: `Java heap`.
    pub name: String,
    /// What of it is in RAM, in bytes.
    pub resident: u64,
}

/// The limit of a cgroup on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// What counts against it, in bytes.
    pub used: u64,
    /// The limit, in bytes.
    pub limit: u64,
}

impl MemoryLook {
    /// Returns the resident set in bytes.
    #[must_use]
    pub fn resident(&self) -> u64 {
        let parts = self.parts.iter();
        parts.fold(0, |sum, part| sum.saturating_add(part.resident))
    }

    /// Formats the note: `memory after 2.500 s: 70 bytes resident: Java heap 40, malloc 30; 90 of a limit of 100 bytes`.
    pub(crate) fn note(&self) -> String {
        let parts = self.parts.iter();
        let parts: Vec<String> = parts
            .map(|part| format!("{} {}", part.name, part.resident))
            .collect();
        let mut note = format!(
            "{START}{:.3}{RESIDENT}{}{PARTS}{}",
            self.after.as_secs_f64(),
            self.resident(),
            parts.join(COMMA)
        );
        if let Some(MemoryLimit { used, limit }) = self.limit {
            note.push_str(&format!("{LIMIT}{used}{OF_LIMIT}{limit}{BYTES}"));
        }
        note
    }

    /// Parses the text of [`MemoryLook::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<Self> {
        let (seconds, rest) = note.strip_prefix(START)?.split_once(RESIDENT)?;
        let (_, rest) = rest.split_once(PARTS)?;
        let (parts, limit) = match rest.split_once(LIMIT) {
            Some((parts, limit)) => {
                let (used, limit) = limit.strip_suffix(BYTES)?.split_once(OF_LIMIT)?;
                let (used, limit) = (used.parse().ok()?, limit.parse().ok()?);
                (parts, Some(MemoryLimit { used, limit }))
            }
            None => (rest, None),
        };
        Some(Self {
            after: Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
            parts: parse_parts(parts)?,
            limit,
        })
    }
}

/// Parses `Java heap, counted again 40, malloc 30`: a part ends with its number.
fn parse_parts(text: &str) -> Option<Vec<MemoryPart>> {
    let mut parts = Vec::new();
    let mut begun = String::new();
    for piece in text.split(COMMA) {
        begun.push_str(piece);
        let part = begun.rsplit_once(' ');
        match part.and_then(|(name, bytes)| Some((name.to_owned(), bytes.parse().ok()?))) {
            Some((name, resident)) => {
                parts.push(MemoryPart { name, resident });
                begun.clear();
            }
            None => begun.push_str(COMMA),
        }
    }
    begun.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(limit: Option<MemoryLimit>) -> MemoryLook {
        let part = |name: &str, resident| MemoryPart {
            name: name.to_owned(),
            resident,
        };
        MemoryLook {
            after: Duration::from_millis(2_500),
            parts: vec![part("Java heap, counted again", 40), part("malloc", 30)],
            limit,
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let limit = MemoryLimit {
            used: 90,
            limit: 100,
        };
        let limited = look(Some(limit));
        assert_eq!(
            limited.note(),
            "memory after 2.500 s: 70 bytes resident: Java heap, counted again 40, malloc 30; 90 of a limit of 100 bytes"
        );
        for look in [limited, look(None)] {
            assert_eq!(MemoryLook::of_note(&look.note()), Some(look));
        }
    }

    #[test]
    fn what_is_damaged_is_another_note() {
        for note in [
            "memory after 2 s",
            "memory after x s: 7 bytes resident: malloc 7",
            "memory after 2 s: 7 bytes resident: malloc",
            "memory after 2 s: 7 bytes resident: malloc 7, stacks",
            "memory after 2 s: 7 bytes resident: malloc 7; 9 of a limit of x bytes",
            "memory after -2 s: 7 bytes resident: malloc 7",
        ] {
            assert_eq!(MemoryLook::of_note(note), None, "{note}");
        }
    }
}
