//! Which objects are mentioned in which part of a column of object numbers, so that a search for one passes over the other
//! parts.
//!
//! The entries of the column and the numbers of the objects both come in zones of [`ZONE`], and there is a bit for each
//! pair of them. Most are zero, because objects are mostly near those that refer to them or dominate them. With 200
//! million objects the bits take 1.2 MB, with a billion 29 MB.

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::turns::in_turn;

/// The entries, or the objects, of a zone.
const ZONE: usize = 1 << 16;
/// The zones next to each other that are searched before the memory of what was read is given back: the system reads more
/// than what is asked for, so there would be a rest of each zone.
const TOGETHER: usize = 16;
const BITS: usize = u64::BITS as usize;

/// The zones of objects that each zone of a column has.
#[derive(Debug)]
pub(crate) struct Zones {
    /// The words for each zone of the column.
    width: usize,
    words: Numbers<u64>,
}

/// Returns how many zones so many entries have.
pub(crate) fn zones_of(entries: usize) -> usize {
    entries.div_ceil(ZONE)
}

/// Returns the entries of a zone, given all of them.
pub(crate) fn entries_in(zone: usize, all: Range<usize>) -> Range<usize> {
    let at = |zone: usize| (all.start + zone * ZONE).min(all.end);
    at(zone)..at(zone + 1)
}

/// Returns the words that have a bit for each zone of so many objects.
fn words_of(objects: u32) -> usize {
    zones_of(objects as usize).div_ceil(BITS)
}

/// Returns the zones of a column of so many in which an object can be, in groups that are near each other.
pub(crate) fn zones_with(object: u32, zones: usize, known: Option<&Zones>) -> Vec<Vec<usize>> {
    let can_have = |zone: &usize| known.is_none_or(|known| known.can_have(*zone, object));
    let zones: Vec<usize> = (0..zones).filter(can_have).collect();
    let groups = zones.chunk_by(|one, next| one / TOGETHER == next / TOGETHER);
    groups.map(<[usize]>::to_vec).collect()
}

/// Returns the entries from the first to the last of a group of zones, given those of each one.
pub(crate) fn entries_of<T>(
    group: &[usize],
    entries_in: impl Fn(usize) -> Range<T>,
) -> Option<Range<T>> {
    let (&first, &last) = group.first().zip(group.last())?;
    Some(entries_in(first).start..entries_in(last).end)
}

/// What makes searches in an index faster.
#[derive(Debug)]
pub(crate) struct SearchZones {
    /// Those of the objects' references.
    pub(crate) rows: Zones,
    /// Those of the nodes of the dominator tree.
    pub(crate) nodes: Zones,
}

impl Zones {
    /// Looks at the objects in each zone of a column, whose numbers are below `objects`.
    pub(crate) fn of<I: Iterator<Item = u32>>(
        (threads, zones): (usize, usize),
        objects: u32,
        objects_in: impl Fn(usize) -> I + Sync,
        memory: &Memory,
    ) -> io::Result<Zones> {
        let width = words_of(objects);
        let mut words = memory.growing();
        let look = |zone, found: &mut Vec<u64>| {
            found.clear();
            found.resize(width, 0);
            for object in objects_in(zone) {
                let zone = object as usize / ZONE;
                found[zone / BITS] |= 1 << (zone % BITS);
            }
            Ok(())
        };
        let add = |found: &mut Vec<u64>| {
            words.extend(found);
            Ok(())
        };
        in_turn((threads, zones), look, add, |_| {}).and_then(|()| {
            let words = words.finish()?;
            Ok(Zones { width, words })
        })
    }

    fn can_have(&self, zone: usize, object: u32) -> bool {
        let of_object = object as usize / ZONE;
        let word = self.words.get(zone * self.width + of_object / BITS);
        word.is_some_and(|word| word >> (of_object % BITS) & 1 != 0)
    }

    /// Writes it as a section of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&self.words)
    }

    /// Reads that of a column with so many zones; `None` if it has another length.
    pub(crate) fn load(index: &mut SectionReader, zones: usize, objects: u32) -> Option<Zones> {
        let width = words_of(objects);
        let words = index.table()?;
        (Some(words.len()) == zones.checked_mul(width)).then_some(Zones { width, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zones_that_can_have_an_object_are_searched() {
        // The second zone of the column has objects of the zones 0 and 70.
        let objects_in = |zone| match zone {
            1 => vec![5, 70 * ZONE as u32 + 9].into_iter(),
            _ => vec![ZONE as u32].into_iter(),
        };
        let objects = 71 * ZONE as u32;
        let memory = Memory::unlimited();
        let zones = Zones::of((2, 3), objects, objects_in, &memory).expect("memory");
        let with = |object| zones_with(object, 3, Some(&zones)).concat();
        assert_eq!(with(0), [1]);
        assert_eq!(with(ZONE as u32 - 1), [1]);
        assert_eq!(with(ZONE as u32), [0, 2]);
        assert_eq!(with(71 * ZONE as u32 - 1), [1]);
        assert_eq!(with(6 * ZONE as u32), [0; 0]);
        assert_eq!(with(u32::MAX), [0; 0]);
        assert_eq!(zones_with(6 * ZONE as u32, 3, None), [[0, 1, 2]]);
        let groups = zones_with(0, TOGETHER + 2, None);
        assert_eq!(groups[1], [TOGETHER, TOGETHER + 1]);
        let entries = entries_of(&groups[1], |zone| 10 * zone..10 * zone + 10);
        assert_eq!(entries, Some(10 * TOGETHER..10 * TOGETHER + 20));
    }

    #[test]
    fn zones_divide_a_column() {
        let all = 1..2 * ZONE + 5;
        assert_eq!(zones_of(all.len()), 3);
        let parts: Vec<_> = (0..3).map(|zone| entries_in(zone, all.clone())).collect();
        assert_eq!(
            parts,
            [
                1..ZONE + 1,
                ZONE + 1..2 * ZONE + 1,
                2 * ZONE + 1..2 * ZONE + 5
            ]
        );
    }
}
