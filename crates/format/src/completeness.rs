//! How much of a heap dump a file has, and where its last whole record ends.

use std::fmt;

use crate::heap::{HeapError, HeapRecords};
use crate::id_size::IdSize;
use crate::kind::HeapKind;

/// How much of a heap dump a file has. Offsets are in bytes from the start of the file, after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// All of it.
    Whole,
    /// All of it; but the file ends inside the record at this offset, so that a later dump may be missing.
    WholeInCutFile {
        /// The offset of the record.
        at: u64,
    },
    /// The file ends before the dump does.
    Cut {
        /// The end of the last whole record.
        at: u64,
        /// The number of bytes after it, which are the beginning of a record.
        rest: u64,
        /// The roots before it.
        roots: RootsLeft,
    },
}

/// The roots in what is left of a heap dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootsLeft {
    /// All: the writer began with them, and went on to objects.
    All,
    /// None or some: the writer had them after the objects.
    NotAll,
}

impl Completeness {
    /// Returns `true` unless the dump, or a later one, may be missing in part.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self == Completeness::Whole
    }

    /// Returns `true` if objects are missing, so that nothing may refer to others that are alive.
    #[must_use]
    pub fn is_cut(self) -> bool {
        matches!(self, Completeness::Cut { .. })
    }

    /// Returns `true` if roots may be missing.
    #[must_use]
    pub fn lacks_roots(self) -> bool {
        matches!(
            self,
            Completeness::Cut {
                roots: RootsLeft::NotAll,
                ..
            }
        )
    }
}

/// One line, for a dump that is not whole.
impl fmt::Display for Completeness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Completeness::Whole => out.write_str("the dump is whole"),
            Completeness::WholeInCutFile { at } => write!(
                out,
                "byte {at}: the file was cut here, after this dump, which is whole; later ones are missing"
            ),
            Completeness::Cut { at, rest, roots } => {
                write!(out, "byte {at}: the dump was cut here")?;
                if rest > 0 {
                    write!(out, ", inside a record of which {rest} bytes are there")?;
                }
                out.write_str(match roots {
                    RootsLeft::All => {
                        ", as when its writer is killed or the disk is full; later objects are missing, the roots are there: \
                         what nothing refers to is taken for live, too"
                    }
                    RootsLeft::NotAll => {
                        ", as when its writer is killed or the disk is full; later objects and roots are missing: classes, \
                         threads and what nothing refers to are taken for roots"
                    }
                })
            }
        }
    }
}

/// The whole records that some bytes begin with.
#[derive(Clone, Debug)]
pub struct WholeRecords {
    /// Where the last one ends.
    pub end: usize,
    /// Set if one ends at the wanted offset.
    pub ends_at_wanted: bool,
    /// The reason there is no further one; `None` at the end of the bytes.
    pub fault: Option<HeapError>,
}

impl WholeRecords {
    /// Finds them in `bytes`, which begin where a heap dump's content does, and returns whether one ends at `wanted`.
    #[must_use]
    pub fn of(bytes: &[u8], id_size: IdSize, wanted: usize) -> WholeRecords {
        let mut found = WholeRecords {
            end: 0,
            ends_at_wanted: wanted == 0,
            fault: None,
        };
        let mut records = HeapRecords::new(bytes, id_size);
        while let Some(record) = records.next() {
            if let Err(fault) = record {
                found.fault = Some(fault);
                break;
            }
            found.end = records.offset();
            found.ends_at_wanted |= found.end == wanted;
        }
        found
    }
}

/// What is known of the roots while the records of a dump are looked through.
#[derive(Clone, Copy, Debug, Default)]
pub struct RootsSeen {
    before_objects: bool,
    is_last: bool,
    any: bool,
}

impl RootsSeen {
    /// Takes the next record into account.
    pub fn add(&mut self, kind: HeapKind) {
        match kind {
            HeapKind::Instance
            | HeapKind::ObjectArray
            | HeapKind::PrimitiveArray
            | HeapKind::PrimitiveArrayWithoutData => {
                self.before_objects |= self.any;
                self.is_last = false;
            }
            // They may stand anywhere.
            HeapKind::Class | HeapKind::HeapInfo => {}
            _ => (self.any, self.is_last) = (true, true),
        }
    }

    /// Returns which roots there are in a dump that was cut after these records.
    #[must_use]
    pub fn left(self) -> RootsLeft {
        match self.before_objects && !self.is_last {
            true => RootsLeft::All,
            false => RootsLeft::NotAll,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(kinds: &[HeapKind]) -> RootsLeft {
        let mut seen = RootsSeen::default();
        kinds.iter().for_each(|&kind| seen.add(kind));
        seen.left()
    }

    #[test]
    fn roots_are_all_there_if_objects_follow_them() {
        use HeapKind::{Class, Instance, RootStickyClass, RootThread};
        assert_eq!(left(&[]), RootsLeft::NotAll);
        assert_eq!(left(&[Class, RootThread, Instance]), RootsLeft::All);
        assert_eq!(left(&[Class, RootThread, Instance, Class]), RootsLeft::All);
        assert_eq!(left(&[Class, Instance, RootThread]), RootsLeft::NotAll);
        let interleaved = [RootThread, Instance, RootStickyClass];
        assert_eq!(left(&interleaved), RootsLeft::NotAll);
    }
}
