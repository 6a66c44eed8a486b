//! The retained sizes of objects, by their numbers.

use std::io::{self, Write};

use foldhash::HashMap;

use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::ObjectNumber;
use crate::data::objects::{MOST_BYTES, Objects, UNIT};
use crate::data::packed::{Near, Packed, PackedWriter};
use crate::data::ranks::{NewSet, Ranks};
use crate::data::sections::{SectionReader, SectionWriter};

/// The marker of an object that no root reaches.
const UNREACHED: u32 = 0;
/// The marker that a size is stored elsewhere.
const LARGE: u32 = u32::MAX;

/// Retained sizes, in bytes. Like shallow sizes they are multiples of [`UNIT`].
#[derive(Debug)]
pub(super) struct RetainedSizes {
    /// The objects whose sizes are stored: those that dominate others, and those that no root reaches. What the others retain is what
    /// they take themselves.
    stored: Ranks,
    /// In units and one more, by rank; or one of the markers.
    units: Packed,
    /// By rank.
    large: HashMap<u32, u64>,
    /// The size of all objects that roots reach.
    all: u64,
}

impl RetainedSizes {
    /// Returns the size of all objects that roots reach.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// Returns what an object retains; `None` if no root reaches it.
    #[inline]
    pub(super) fn get(&self, object: ObjectNumber, objects: &Objects) -> Option<u64> {
        match self.stored.find(object.0) {
            Some(rank) => self.bytes(rank, self.units.get(self.place(rank)?)),
            None => Some(objects.size(object)),
        }
    }

    /// Returns the place of a size with this rank. That of a damaged index may be any.
    #[inline]
    fn place(&self, rank: u32) -> Option<usize> {
        let last = self.units.len().checked_sub(1)?;
        Some(last.min(rank as usize))
    }

    #[inline]
    fn bytes(&self, rank: u32, units: u64) -> Option<u64> {
        match units {
            units if units == UNREACHED.into() => None,
            units if units < LARGE.into() => Some((units - 1) * UNIT),
            _ => Some(self.large.get(&rank).copied().unwrap_or_default()),
        }
    }

    /// Returns a reader for objects most of which are near the one before.
    pub(super) fn near(&self) -> NearSizes<'_> {
        NearSizes {
            sizes: self,
            units: self.units.near(),
        }
    }

    /// Writes them as sections of an index.
    pub(super) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.stored.save(out)?;
        self.units.save(out)?;
        out.map(&self.large)?;
        out.table(&[self.all])
    }

    /// Reads those of so many objects; `None` if they are damaged.
    pub(super) fn load(index: &mut SectionReader, count: usize) -> Option<RetainedSizes> {
        let sizes = RetainedSizes {
            stored: Ranks::load(index, count)?,
            units: Packed::load(index)?,
            large: index.map()?,
            all: index.one()?,
        };
        let is_possible = |&bytes: &u64| bytes <= MOST_BYTES;
        let is_sound = sizes.units.len() == sizes.stored.count() as usize
            && sizes.large.values().all(is_possible)
            && is_possible(&sizes.all);
        is_sound.then_some(sizes)
    }
}

/// A reader for objects most of which are near the one before.
pub(crate) struct NearSizes<'a> {
    sizes: &'a RetainedSizes,
    units: Near<'a>,
}

impl NearSizes<'_> {
    /// Returns what an object retains; `None` if no root reaches it.
    #[inline]
    pub(crate) fn get(&mut self, object: ObjectNumber, objects: &Objects) -> Option<u64> {
        match self.sizes.stored.find(object.0) {
            Some(rank) => {
                let units = self.units.get(self.sizes.place(rank)?);
                self.sizes.bytes(rank, units)
            }
            None => Some(objects.size(object)),
        }
    }
}

/// Retained sizes while they are found.
pub(super) struct NewSizes {
    stored: Ranks,
    units: Numbers<u32>,
    large: HashMap<u32, u64>,
}

impl NewSizes {
    /// Starts without the size of any of these objects.
    pub(super) fn new(stored: NewSet, memory: &Memory) -> io::Result<NewSizes> {
        let stored = stored.rank(memory)?;
        Ok(NewSizes {
            // All are unreached.
            units: memory.table(stored.count() as usize)?,
            stored,
            large: HashMap::default(),
        })
    }

    /// Sets what an object retains, which is one of them.
    #[inline]
    pub(super) fn set(&mut self, object: ObjectNumber, bytes: u64) {
        let rank = self.stored.rank(object.0);
        self.units[rank as usize] = match u32::try_from(bytes / UNIT + 1) {
            Ok(units) if units < LARGE => units,
            _ => {
                self.large.insert(rank, bytes);
                LARGE
            }
        };
    }

    /// Returns them, with the size of all objects that roots reach.
    pub(super) fn pack(self, all: u64, memory: &Memory) -> io::Result<RetainedSizes> {
        let mut units = PackedWriter::new(self.units.len(), memory)?;
        self.units.iter().for_each(|&size| units.push(size.into()));
        Ok(RetainedSizes {
            stored: self.stored,
            units: units.finish(),
            large: self.large,
            all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_32_gb_are_kept() {
        let memory = Memory::unlimited();
        let most = u64::from(LARGE - 2) * UNIT;
        let expected = [0, most, most + UNIT, most + 2 * UNIT, most + 3 * UNIT];
        let stored = NewSet::all(expected.len() + 1, &memory).expect("there is memory");
        let mut sizes = NewSizes::new(stored, &memory).expect("there is memory");
        for (object, &bytes) in (0..).map(ObjectNumber).zip(&expected) {
            sizes.set(object, bytes);
        }
        let sizes = sizes.pack(0, &memory).expect("there is memory");
        let found =
            [0, 1, 2, 3, 4, 5].map(|rank| sizes.bytes(rank, sizes.units.get(rank as usize)));
        assert_eq!(found[..5], expected.map(Some));
        assert_eq!(found[5], None, "no root reaches it");
        assert_eq!(sizes.large.len(), 3);
    }
}
