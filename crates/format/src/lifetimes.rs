//! SITE LIFETIMES: of each site, how long the objects that have died lived, and how old the live ones are.
//!
//! The section has a form of its own only in text. A binary file has it as a note ([`Section`](crate::Section)).

use std::fmt::{self, Write};
use std::time::Duration;

use crate::record::{ClassSerial, TraceSerial};

/// The least number of collections survived, for each class of ages.
const COLLECTIONS: [u32; 7] = [0, 1, 2, 3, 5, 10, 20];
/// The names of these classes.
const COLLECTION_NAMES: [&str; 7] = ["0", "1", "2", "3-4", "5-9", "10-19", "20+"];
/// The least number of seconds since the birth, for each class of ages.
const SECONDS: [u64; 6] = [0, 1, 10, 60, 600, 3_600];
/// The names of these classes.
const AGE_NAMES: [&str; 6] = ["<1s", "<10s", "<1m", "<10m", "<1h", "1h+"];
/// The separator between the first and the last of several classes.
const TO: &str = "..";
/// The text in a column that does not apply.
const NONE: &str = "-";
/// The text before the facts in a note.
const START: &str = "SITE LIFETIMES (";

/// How many collections objects have survived: a class of numbers, or several neighbouring ones if no more is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Survived {
    least: u8,
    most: u8,
}

/// The time since objects were made: a class of times, or several neighbouring ones if no more is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age {
    youngest: u8,
    oldest: u8,
}

/// The fate of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// They have died.
    Dead(Survived),
    /// They are alive.
    Live(Survived, Age),
    /// They are alive, and were made before the profile began.
    Before,
    /// They have died or are alive: the file is the sum of several.
    Any(Survived),
    /// They were alive at the peak, whatever has become of them.
    Peak,
}

/// The objects of one site with the same fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifetimeRow {
    /// The site; `None` for the sum of all sites, including those that are not listed.
    pub site: Option<(TraceSerial, ClassSerial)>,
    /// Their fate.
    pub fate: Fate,
    /// Bytes.
    pub bytes: u64,
    /// Objects.
    pub objects: u64,
}

/// The collection after which most bytes were alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Its number since the profile began, from 1.
    pub collection: u32,
    /// The time since then, in milliseconds.
    pub millis: u64,
}

/// The objects of one site, in groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LifetimeSums {
    /// The site; `None` for the sum of all sites.
    pub site: Option<(TraceSerial, ClassSerial)>,
    /// Bytes and objects that died before their first collection, bytes and objects that have survived at least one for
    /// certain, and bytes and objects that were alive at the peak.
    pub values: [u64; 6],
}

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes {
    /// The number of collections since the profile began.
    pub collections: u32,
    /// The time since then, in milliseconds.
    pub millis: u64,
    /// The collection after which most bytes were alive; `None` if there was none yet.
    pub peak: Option<Peak>,
    /// The rows: first those of all sites.
    pub rows: Vec<LifetimeRow>,
}

/// Returns the class of a value.
fn class<T: PartialOrd>(least: &[T], value: &T) -> u8 {
    let above = least.iter().filter(|least| *least <= value).count();
    u8::try_from(above.saturating_sub(1)).unwrap_or(u8::MAX)
}

impl Survived {
    /// Objects that died before the first collection after their birth.
    pub const TEMPORARY: Survived = Survived { least: 0, most: 0 };

    /// The first class without an end: no later look can tell more.
    pub const LONGEST: u32 = COLLECTIONS[COLLECTIONS.len() - 1];

    /// Returns the classes of these numbers of collections.
    #[must_use]
    pub fn between(least: u32, most: u32) -> Survived {
        Survived {
            least: class(&COLLECTIONS, &least),
            most: class(&COLLECTIONS, &most.max(least)),
        }
    }

    /// Returns `true` if at least one collection is certain.
    #[must_use]
    pub fn has_survived(self) -> bool {
        self.least > 0
    }
}

impl Age {
    /// The number of classes.
    pub const CLASSES: usize = SECONDS.len();

    /// Returns the class of the youngest that the objects may be.
    #[must_use]
    pub fn least_class(self) -> usize {
        self.youngest.into()
    }

    /// Returns the seconds since the birth that are certain.
    #[must_use]
    pub fn least_seconds(self) -> u64 {
        SECONDS.get(self.least_class()).copied().unwrap_or_default()
    }

    /// Returns the classes of these times.
    #[must_use]
    pub fn between(youngest: Duration, oldest: Duration) -> Age {
        Age {
            youngest: class(&SECONDS, &youngest.as_secs()),
            oldest: class(&SECONDS, &oldest.max(youngest).as_secs()),
        }
    }
}

/// Formats the first and the last of some classes.
fn range(names: &[&str], first: u8, last: u8) -> String {
    let name = |class: u8| names.get(usize::from(class)).copied().unwrap_or(NONE);
    match first == last {
        true => name(first).to_owned(),
        false => format!("{}{TO}{}", name(first), name(last)),
    }
}

/// Parses the text of [`range`].
fn parse_range(names: &[&str], text: &str) -> Option<(u8, u8)> {
    let class = |text: &str| {
        let index = names.iter().position(|name| *name == text)?;
        u8::try_from(index).ok()
    };
    let (first, last) = text.split_once(TO).unwrap_or((text, text));
    let (first, last) = (class(first)?, class(last)?);
    (first <= last).then_some((first, last))
}

impl fmt::Display for Survived {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&range(&COLLECTION_NAMES, self.least, self.most))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&range(&AGE_NAMES, self.youngest, self.oldest))
    }
}

impl Fate {
    /// Returns the text of the three columns that tell the fate: the state, the collections survived, the age.
    #[must_use]
    pub fn columns(self) -> [String; 3] {
        let none = || NONE.to_owned();
        match self {
            Fate::Dead(survived) => ["dead".to_owned(), survived.to_string(), none()],
            Fate::Live(survived, age) => ["live".to_owned(), survived.to_string(), age.to_string()],
            Fate::Before => ["before".to_owned(), none(), none()],
            Fate::Any(survived) => ["any".to_owned(), survived.to_string(), none()],
            Fate::Peak => ["peak".to_owned(), none(), none()],
        }
    }

    /// Parses the text of [`Fate::columns`].
    pub(crate) fn parse([state, survived, age]: [&str; 3]) -> Option<Fate> {
        let survived =
            parse_range(&COLLECTION_NAMES, survived).map(|(least, most)| Survived { least, most });
        let age = parse_range(&AGE_NAMES, age).map(|(youngest, oldest)| Age { youngest, oldest });
        match state {
            "dead" => Some(Fate::Dead(survived?)),
            "live" => Some(Fate::Live(survived?, age?)),
            "before" => Some(Fate::Before),
            "any" => Some(Fate::Any(survived?)),
            "peak" => Some(Fate::Peak),
            _ => None,
        }
    }
}

impl Lifetimes {
    /// Formats the facts in the section's first line.
    pub(crate) fn facts(&self) -> String {
        let (collections, millis) = (self.collections, self.millis);
        let peak = self.peak.map_or(String::new(), |peak| {
            let (collection, millis) = (peak.collection, peak.millis);
            format!(", peak = collection {collection} at {millis} ms")
        });
        format!("collections = {collections}, time = {millis} ms{peak})")
    }

    /// Parses the text of [`Lifetimes::facts`]; returns the rest of the line, too.
    pub(crate) fn parse_facts(text: &str) -> Option<(Lifetimes, &str)> {
        let (collections, rest) = text
            .strip_prefix("collections = ")?
            .split_once(", time = ")?;
        let (millis, rest) = rest.split_once(" ms")?;
        let (peak, rest) = match rest.strip_prefix(", peak = collection ") {
            Some(rest) => {
                let (collection, rest) = rest.split_once(" at ")?;
                let (millis, rest) = rest.split_once(" ms")?;
                let peak = Peak {
                    collection: collection.parse().ok()?,
                    millis: millis.parse().ok()?,
                };
                (Some(peak), rest)
            }
            None => (None, rest),
        };
        let rest = rest.strip_prefix(')')?;
        let lifetimes = Lifetimes {
            collections: collections.parse().ok()?,
            millis: millis.parse().ok()?,
            peak,
            rows: Vec::new(),
        };
        Some((lifetimes, rest))
    }

    /// Formats the note.
    pub(crate) fn note(&self) -> String {
        let mut note = format!("{START}{}", self.facts());
        for row in &self.rows {
            let [state, survived, age] = row.fate.columns();
            let (bytes, objects) = (row.bytes, row.objects);
            let _ = write!(note, "\n{state} {survived} {age} {bytes} {objects}");
            if let Some((trace, class)) = row.site {
                let _ = write!(note, " {trace} {class}");
            }
        }
        note
    }

    /// Parses the text of [`Lifetimes::note`]; `None` for any other note.
    pub(crate) fn of_note(note: &str) -> Option<Lifetimes> {
        let mut lines = note.strip_prefix(START)?.split('\n');
        let (mut lifetimes, rest) = Lifetimes::parse_facts(lines.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        for line in lines {
            let mut words = line.split(' ');
            let fate = [words.next()?, words.next()?, words.next()?];
            let (bytes, objects) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let site = match words.next() {
                Some(trace) => {
                    let class = words.next()?.parse().ok()?;
                    Some((TraceSerial(trace.parse().ok()?), ClassSerial(class)))
                }
                None => None,
            };
            lifetimes.rows.push(LifetimeRow {
                site,
                fate: Fate::parse(fate)?,
                bytes,
                objects,
            });
        }
        Some(lifetimes)
    }

    /// Returns the sums of all sites, and then of each.
    #[must_use]
    pub fn sums(&self) -> Vec<LifetimeSums> {
        let mut sums = vec![LifetimeSums::default()];
        for row in &self.rows {
            if sums.last().is_none_or(|last| last.site != row.site) {
                sums.push(LifetimeSums {
                    site: row.site,
                    ..LifetimeSums::default()
                });
            }
            let first = match row.fate {
                Fate::Dead(Survived::TEMPORARY) => 0,
                Fate::Dead(survived) | Fate::Live(survived, _) | Fate::Any(survived)
                    if survived.has_survived() =>
                {
                    2
                }
                Fate::Peak => 4,
                _ => continue,
            };
            if let Some(LifetimeSums { values, .. }) = sums.last_mut() {
                values[first] = values[first].saturating_add(row.bytes);
                values[first + 1] = values[first + 1].saturating_add(row.objects);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fate: Fate) -> LifetimeRow {
        LifetimeRow {
            site: Some((TraceSerial(300_001), ClassSerial(100_007))),
            fate,
            bytes: 480,
            objects: 20,
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let old = Age::between(Duration::from_millis(9_900), Duration::from_millis(10_100));
        let fates = [
            Fate::Dead(Survived::TEMPORARY),
            Fate::Dead(Survived::between(2, 7)),
            Fate::Live(Survived::between(40, 40), old),
            Fate::Before,
            Fate::Any(Survived::between(1, u32::MAX)),
            Fate::Peak,
        ];
        let mut rows = vec![LifetimeRow {
            site: None,
            ..row(Fate::Before)
        }];
        rows.extend(fates.map(row));
        let lifetimes = Lifetimes {
            collections: 7,
            millis: 2_503,
            peak: Some(Peak {
                collection: 3,
                millis: 1_204,
            }),
            rows,
        };
        let note = lifetimes.note();
        assert_eq!(Lifetimes::of_note(&note), Some(lifetimes));
        assert!(
            note.contains("\ndead 2..5-9 - 480 20 300001 100007"),
            "{note}"
        );
        assert!(note.contains("\nlive 20+ <10s..<1m 480 20 "), "{note}");
    }

    #[test]
    fn a_damaged_note_is_none() {
        for note in [
            "SITE LIFETIMES (collections = 7, time = x ms)",
            "SITE LIFETIMES (collections = 7, time = 1 ms) more",
            "SITE LIFETIMES (collections = 7, time = 1 ms)\ndead 5 - 1 1",
            "SITE LIFETIMES (collections = 7, time = 1 ms)\ndead 1 - 1 1 300001",
            "left out",
        ] {
            assert_eq!(Lifetimes::of_note(note), None, "{note}");
        }
    }

    #[test]
    fn an_age_is_of_the_class_whose_least_value_it_reaches() {
        let names = [0, 1, 2, 3, 4, 5, 9, 10, 19, 20, 1_000]
            .map(|collections| Survived::between(collections, collections).to_string());
        let expected = [
            "0", "1", "2", "3-4", "3-4", "5-9", "5-9", "10-19", "10-19", "20+", "20+",
        ];
        assert_eq!(names, expected);
        let age = |seconds| {
            let time = Duration::from_secs(seconds);
            Age::between(time, time).to_string()
        };
        assert_eq!(
            [0, 1, 9, 10, 59, 60].map(age),
            ["<1s", "<10s", "<10s", "<1m", "<1m", "<10m"]
        );
        assert_eq!(
            [599, 600, 3_599, 3_600].map(age),
            ["<10m", "<1h", "<1h", "1h+"]
        );
    }

    #[test]
    fn what_may_have_been_temporary_is_in_no_sum() {
        let fates = [
            Fate::Dead(Survived::TEMPORARY),
            Fate::Dead(Survived::between(0, 1)),
            Fate::Dead(Survived::between(1, 4)),
            Fate::Peak,
            Fate::Before,
        ];
        let lifetimes = Lifetimes {
            rows: fates.map(row).to_vec(),
            ..Lifetimes::default()
        };
        let sums = LifetimeSums {
            site: row(Fate::Peak).site,
            values: [480, 20, 480, 20, 480, 20],
        };
        assert_eq!(lifetimes.sums(), [LifetimeSums::default(), sums]);
    }
}
