//! When the objects of a dump were made, from the births file next to it.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use hprof_format::{Age, BirthsError, BirthsHead, BirthsReader, ObjectId, births_path};

use crate::data::dump::Dump;
use crate::data::index_head::open_file;

/// The births of a dump's objects.
#[derive(Debug)]
pub struct Births {
    head: BirthsHead,
    /// The ids of the objects with the positions of their moments, in the order of the ids.
    objects: Vec<(u64, u32)>,
}

/// When some objects were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MadeWhen {
    /// The objects whose birth is known.
    pub objects: u64,
    /// Those of them that were made in the second half of the profile for certain.
    pub second_half: u64,
    /// The least time since the youngest was made, in milliseconds.
    pub youngest_millis: u64,
    /// The most since the oldest was made.
    pub oldest_millis: u64,
    /// The bytes of the objects whose birth is known.
    pub bytes: u64,
    /// Those of them that were made in the first quarter of the profile for certain.
    pub first_quarter_bytes: u64,
}

impl MadeWhen {
    /// Adds other objects.
    pub(crate) fn add(&mut self, other: &MadeWhen) {
        self.youngest_millis = match (self.objects, other.objects) {
            (0, _) => other.youngest_millis,
            (_, 0) => self.youngest_millis,
            _ => self.youngest_millis.min(other.youngest_millis),
        };
        self.oldest_millis = self.oldest_millis.max(other.oldest_millis);
        self.objects += other.objects;
        self.second_half += other.second_half;
        self.bytes += other.bytes;
        self.first_quarter_bytes += other.first_quarter_bytes;
    }
}

/// The objects of a dump that were made after an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct MadeAfter<'a> {
    births: &'a Births,
    /// The position of the first moment after the earlier dump.
    first: u32,
}

impl MadeAfter<'_> {
    pub(crate) fn has(self, object: ObjectId) -> bool {
        self.births
            .moment_index(object)
            .is_some_and(|index| index >= self.first)
    }
}

/// The time that has passed since an object was made, at the time of the dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSince {
    /// The least that it can be.
    pub least: Duration,
    /// The most.
    pub most: Duration,
}

/// The reason the births of a dump cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoBirths {
    /// There is no births file.
    #[error("there is no {}: the agent writes it next to a dump with heap=all,lifetimes=y", .0.display())]
    Missing(PathBuf),
    /// It is damaged.
    #[error("{}: {error}", path.display())]
    Damaged {
        /// Its path.
        path: PathBuf,
        /// The fault.
        error: BirthsError,
    },
    /// It is for another dump.
    #[error("{} belongs to another dump: dump {dump} of {}", path.display(), owner_of_dump(*.is_file))]
    OfAnother {
        /// Its path.
        path: PathBuf,
        /// The number of that dump in its file.
        dump: u32,
        /// `true` if it is of the same file.
        is_file: bool,
    },
}

fn owner_of_dump(is_file: bool) -> &'static str {
    match is_file {
        true => "this file",
        false => "another file",
    }
}

impl NoBirths {
    /// Returns `true` if there is no births file at all.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

impl Births {
    /// Reads the births file next to the file of a dump.
    ///
    /// # Errors
    /// [`NoBirths`], if it is missing, damaged, or of another dump.
    pub fn next_to(file: &Path, dump: &Dump) -> Result<Births, NoBirths> {
        let (number, _) = dump.number_and_count();
        let path = births_path(file, u32::try_from(number).unwrap_or(u32::MAX));
        // Nobody has named it, and a pipe in its place is not waited for.
        let opened = match open_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NoBirths::Missing(path));
            }
            opened => opened,
        };
        let opened = opened.map_err(BirthsError::from);
        let reader = opened.and_then(|file| BirthsReader::new(BufReader::new(file)));
        let read = reader.and_then(|reader| {
            let head = reader.head();
            match head.is_for(dump.file_time(), number) {
                true => Births::read(reader).map(Ok),
                false => Ok(Err((head.dump, head.file == dump.file_time().0))),
            }
        });
        match read {
            Ok(Ok(births)) => Ok(births),
            Ok(Err((dump, is_file))) => Err(NoBirths::OfAnother {
                path,
                dump,
                is_file,
            }),
            Err(error) => Err(NoBirths::Damaged { path, error }),
        }
    }

    fn read(mut reader: BirthsReader<BufReader<File>>) -> Result<Births, BirthsError> {
        let mut objects = Vec::new();
        while let Some(birth) = reader.read()? {
            // There are at most 2^20 moments.
            let index = reader.head().moment_index(birth.moment) as u32;
            objects.push((birth.object.0, index));
        }
        objects.sort_unstable();
        Ok(Births {
            head: reader.into_head(),
            objects,
        })
    }

    /// Returns the objects that were made after another dump of the same profile; `None` if that is another profile's,
    /// or a later one, or so long ago that the agent has forgotten when it was.
    #[must_use]
    pub fn made_after(&self, old: &Births) -> Option<MadeAfter<'_>> {
        let (head, next) = (&self.head, old.head.next);
        let first = head.moment_index(next);
        let is_known = head.run == old.head.run
            && next <= head.next
            && head
                .moments
                .get(first)
                .is_some_and(|moment| moment.number == next);
        is_known.then_some(MadeAfter {
            births: self,
            first: first as u32,
        })
    }

    /// Adds an object, if its birth is known.
    pub(crate) fn add_to(&self, when: &mut MadeWhen, object: ObjectId, bytes: u64) {
        let head = &self.head;
        let Some(moment) = self.moment_index(object) else {
            return;
        };
        let (Some(begin), end) = (
            head.moments.get(moment as usize),
            head.moments.get(moment as usize + 1),
        ) else {
            return;
        };
        let youngest = end.map_or(0, |end| head.millis.saturating_sub(end.millis));
        when.youngest_millis = match when.objects {
            0 => youngest,
            _ => when.youngest_millis.min(youngest),
        };
        let oldest = head.millis.saturating_sub(begin.millis);
        when.oldest_millis = when.oldest_millis.max(oldest);
        when.second_half += u64::from(begin.millis >= head.millis / 2);
        when.bytes += bytes;
        if end.is_some_and(|end| end.millis <= head.millis / 4) {
            when.first_quarter_bytes += bytes;
        }
        when.objects += 1;
    }

    /// Returns the times since the profile began, in milliseconds, between which an object was made; `None` if its birth is
    /// not known.
    #[must_use]
    pub fn made_between(&self, object: ObjectId) -> Option<(u64, u64)> {
        let index = self.moment_index(object)? as usize;
        let begin = self.head.moments.get(index)?.millis;
        let end = self.head.moments.get(index + 1);
        let end = end.map_or(self.head.millis, |end| end.millis.min(self.head.millis));
        Some((begin, end.max(begin)))
    }

    /// Returns the time of the profile up to the dump.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_millis(self.head.millis)
    }

    fn moment_index(&self, object: ObjectId) -> Option<u32> {
        let found = self.objects.binary_search_by_key(&object.0, |&(id, _)| id);
        Some(self.objects[found.ok()?].1)
    }

    /// Returns the age of an object at the time of the dump; `None` if it is not known.
    pub(crate) fn since(&self, object: ObjectId) -> Option<TimeSince> {
        let index = self.moment_index(object)? as usize;
        let ago = |index: usize| {
            let moment = self.head.moments.get(index)?;
            Some(Duration::from_millis(
                self.head.millis.saturating_sub(moment.millis),
            ))
        };
        Some(TimeSince {
            least: ago(index + 1).unwrap_or_default(),
            most: ago(index)?,
        })
    }

    /// Returns the class of an object's age.
    pub(crate) fn age(&self, object: ObjectId) -> Option<Age> {
        let since = self.since(object)?;
        Some(Age::between(since.least, since.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_and_others_are_all() {
        let some = MadeWhen {
            objects: 2,
            second_half: 1,
            youngest_millis: 30,
            oldest_millis: 80,
            bytes: 48,
            first_quarter_bytes: 16,
        };
        let others = MadeWhen {
            objects: 3,
            youngest_millis: 20,
            oldest_millis: 70,
            ..some
        };
        let mut all = MadeWhen::default();
        for made in [some, MadeWhen::default(), others] {
            all.add(&made);
        }
        let expected = MadeWhen {
            objects: 5,
            second_half: 2,
            youngest_millis: 20,
            oldest_millis: 80,
            bytes: 96,
            first_quarter_bytes: 32,
        };
        assert_eq!(all, expected);
    }
}
