//! Equal strings and arrays.

use super::Makers;
use super::gather::{Gathered, first, pair, second};
use crate::data::error::Error;
use crate::data::findings::{WasteKind, WasteRow, WasteRows};
use crate::data::heap::Heap;
use crate::data::memory::Numbers;
use crate::data::numbers::ObjectNumber;
use fixedbitset::FixedBitSet;

/// Mixed into the hash of a string's array that is not Latin-1.
const WIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// An object by its content: the hash, then the number of its array (its own if it is one) and its own.
type Content = [u64; 2];

/// Equal objects: their range among all, and their waste.
struct Group {
    start: usize,
    end: usize,
    wasted: u64,
    /// The first of its objects; decides between groups of the same size, since hashes differ from run to run.
    objects: u64,
}

impl Gathered {
    /// Returns equal strings, and equal arrays that are not in strings.
    pub(super) fn duplicates(
        self,
        heap: &Heap<'_>,
        most: usize,
    ) -> Result<(WasteRows, WasteRows), Error> {
        let (mut strings, in_strings) = self.strings_by_content(heap)?;
        let strings_found = equal_objects(heap, &mut strings, most);
        drop(strings);
        let count = self.arrays.len() - in_strings.count_ones(..);
        let mut arrays: Numbers<Content> = heap.memory.table(count)?;
        let others = (0..self.arrays.len()).filter(|&place| !in_strings.contains(place));
        for (content, place) in arrays.iter_mut().zip(others) {
            let number = self.arrays[place];
            *content = [
                self.hashes[place],
                pair(ObjectNumber(number), ObjectNumber(number)),
            ];
        }
        drop(self);
        Ok((strings_found, equal_objects(heap, &mut arrays, most)))
    }

    /// Returns the strings, and the set of arrays that belong to them.
    fn strings_by_content(
        &self,
        heap: &Heap<'_>,
    ) -> Result<(Numbers<Content>, FixedBitSet), Error> {
        let mut in_strings = FixedBitSet::with_capacity(self.arrays.len());
        let mut contents: Numbers<Content> = heap.memory.table(self.strings.len())?;
        let mut used = 0;
        let mut place = 0;
        for &string in &self.strings[..] {
            let array = first(string);
            while self.arrays.get(place).is_some_and(|&at| at < array.0) {
                place += 1;
            }
            if self.arrays.get(place) != Some(&array.0) {
                continue;
            }
            in_strings.insert(place);
            let mut hash = self.hashes[place];
            if self.wide.contains(second(string).place()) {
                hash ^= WIDE;
            }
            contents[used] = [hash, string];
            used += 1;
        }
        contents.truncate(used);
        Ok((contents, in_strings))
    }
}

fn equal_objects(heap: &Heap<'_>, contents: &mut [Content], most: usize) -> WasteRows {
    contents.sort_unstable();
    let mut groups = Vec::new();
    let (mut bytes, mut count) = (0, 0);
    let mut start = 0;
    for equal in contents.chunk_by(|one, other| one[0] == other[0]) {
        let end = start + equal.len();
        if equal.len() > 1 {
            let wasted = wasted(heap, equal);
            bytes += wasted;
            count += 1;
            groups.push(Group {
                start,
                end,
                wasted,
                objects: equal[0][1],
            });
            // Sorting now and then limits their number.
            if groups.len() / 2 > most.max(500) {
                keep_largest(&mut groups, most);
            }
        }
        start = end;
    }
    keep_largest(&mut groups, most);
    let rows = groups.iter().map(|group| {
        let equal = &contents[group.start..group.end];
        let mut makers = Makers::default();
        for content in equal {
            let number = second(content[1]);
            makers.add(heap.objects.site(number), heap.objects.size(number));
        }
        WasteRow {
            kind: WasteKind::Equal(second(equal[0][1])),
            objects: equal.len() as u64,
            wasted: group.wasted,
            makers: makers.largest(heap),
        }
    });
    WasteRows {
        bytes,
        groups: count,
        rows: rows.collect(),
    }
}

/// Returns the size of all but one of equal objects. Strings may share an array, which then follows others of its kind.
fn wasted(heap: &Heap<'_>, equal: &[Content]) -> u64 {
    let mut bytes = 0;
    let mut before = first(equal[0][1]);
    for &[_, both] in &equal[1..] {
        let (array, number) = (first(both), second(both));
        bytes += heap.objects.size(number);
        if array != before && array != number {
            bytes += heap.objects.size(array);
        }
        before = array;
    }
    bytes
}

fn keep_largest(groups: &mut Vec<Group>, most: usize) {
    groups.sort_by_key(|group| (std::cmp::Reverse(group.wasted), group.objects));
    groups.truncate(most);
}
