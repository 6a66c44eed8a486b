//! Rows of object numbers in few bytes: an object mostly refers to objects near it, or near each other.
//!
//! A row is for each number its difference from the one before, the first from that of the row's own object, with the sign
//! in the lowest bit, in the form of [`varint`]. The rows come in blocks of [`BLOCK`], whose starts are stored: a word with
//! the length in bytes of each, in half a byte, then the rows. A row of [`LONG`] bytes or more has its length before it.

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Growing, Memory, Numbers};
use crate::data::offsets::Offsets;
use crate::data::packed::sum_of_halves;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The rows in a block: as many as a word has half bytes.
const BLOCK: usize = 16;
/// The bytes of the word with the lengths.
const LENGTHS: usize = 8;
/// The length, in the word, of rows whose length is before them.
const LONG: usize = 15;
/// The length of rows all of whose numbers are near: not above [`NEAR`] from their object.
const SHORT: usize = 3;
/// The greatest difference of as many bits as [`SHORT`] bytes have, of which one is the sign.
const NEAR: u32 = 1 << (7 * SHORT - 1);
/// The bits of half bytes that are set in lengths above [`SHORT`] alone.
const NOT_SHORT: u64 = 0xcccc_cccc_cccc_cccc;

/// The most bytes of a difference, which has 33 bits and a sign.
const MOST_BYTES: u64 = 5;

/// A row for each object.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The start of each block, and the end of the last one.
    starts: Offsets,
    bytes: Numbers<u8>,
    objects: u32,
}

/// The numbers of one row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    own: u32,
    bytes: &'a [u8],
    /// All numbers are below.
    objects: u32,
}

/// A position within a row.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// The byte.
    pub(crate) at: usize,
    /// The number before it, or that of the row's own object.
    pub(crate) last: u32,
}

/// The rows of a block, which are read one after the other.
struct Block<'a> {
    bytes: &'a [u8],
    lengths: u64,
    /// The start of the next row.
    at: usize,
}

impl<'a> Block<'a> {
    #[inline]
    fn at(bytes: &'a [u8], start: usize) -> Block<'a> {
        let lengths = bytes.get(start..).and_then(|rest| rest.first_chunk());
        Block {
            bytes,
            lengths: lengths.map_or(0, |&lengths| u64::from_le_bytes(lengths)),
            at: start.saturating_add(LENGTHS),
        }
    }

    /// Passes so many rows, of which there are as many.
    #[inline]
    fn skip(&mut self, rows: usize) {
        let passed = self.lengths & ((1 << (4 * rows)) - 1);
        let pairs = passed & passed >> 1;
        if pairs & pairs >> 2 & 0x1111_1111_1111_1111 != 0 {
            for _ in 0..rows {
                self.next();
            }
            return;
        }
        self.at = self.at.saturating_add(sum_of_halves(passed));
        self.lengths >>= 4 * rows;
    }

    /// Returns the place of the next row's content.
    #[inline]
    fn next(&mut self) -> Range<usize> {
        let mut length = (self.lengths & 15) as usize;
        self.lengths >>= 4;
        if length == LONG {
            length = varint::read(self.bytes, &mut self.at) as usize;
        }
        let start = self.at;
        self.at = start.saturating_add(length);
        start..self.at
    }
}

impl Rows {
    /// Returns the row of an object.
    #[inline]
    pub(crate) fn row(&self, own: u32) -> Row<'_> {
        let (place, before) = (own as usize / BLOCK, own as usize % BLOCK);
        let mut block = Block::at(&self.bytes, self.starts.get(place) as usize);
        block.skip(before);
        self.row_at(own, block.next())
    }

    /// Returns a row with its content; an empty one, if that is not there.
    #[inline]
    fn row_at(&self, own: u32, content: Range<usize>) -> Row<'_> {
        Row {
            own,
            bytes: self.bytes.get(content).unwrap_or_default(),
            objects: self.objects,
        }
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.starts.save(out)?;
        out.table(&self.bytes)
    }

    /// Reads the rows of this many objects; `None` if there are fewer.
    pub(crate) fn load(index: &mut SectionReader, objects: u32) -> Option<Rows> {
        let starts = Offsets::load(index)?;
        let bytes = index.table()?;
        (starts.len() == blocks(objects)).then_some(Rows {
            starts,
            bytes,
            objects,
        })
    }

    /// Returns the bytes of the rows of objects that are whole blocks, or the last ones.
    pub(crate) fn bytes_in(&self, objects: Range<u32>) -> u64 {
        let start = |object: u32| self.starts.get((object as usize).div_ceil(BLOCK));
        start(objects.end).saturating_sub(start(objects.start))
    }

    /// Gives back the memory of the rows of objects that have been read and are in an index.
    pub(crate) fn release(&self, objects: Range<u32>) {
        let block = |object: u32| (object as usize).div_ceil(BLOCK);
        let blocks = block(objects.start)..block(objects.end);
        let start = |block| self.starts.get(block) as usize;
        let end = start(blocks.end);
        self.bytes.release(start(blocks.start).min(end)..end);
        self.starts.release(blocks);
    }

    /// Iterates over the rows of objects, of which the first is the first of a block.
    pub(crate) fn iter_in(&self, objects: Range<u32>) -> impl Iterator<Item = (u32, Row<'_>)> {
        let bytes = &self.bytes[..];
        let first = self.starts.get(objects.start as usize / BLOCK) as usize;
        let mut block = Block::at(bytes, first);
        objects.clone().map(move |own| {
            if own > objects.start && (own as usize).is_multiple_of(BLOCK) {
                block = Block::at(bytes, block.at);
            }
            (own, self.row_at(own, block.next()))
        })
    }

    /// Returns the objects whose rows have a number, of objects of which the first is the first of a block.
    pub(crate) fn with(&self, number: u32, objects: Range<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = self.starts.get(objects.start as usize / BLOCK) as usize;
        for first in objects.clone().step_by(BLOCK) {
            let mut block = Block::at(&self.bytes, at);
            let is_near = first.abs_diff(number) <= NEAR + BLOCK as u32;
            if !is_near && block.lengths & NOT_SHORT == 0 {
                at = block.at.saturating_add(sum_of_halves(block.lengths));
                continue;
            }
            for own in first..objects.end.min(first.saturating_add(BLOCK as u32)) {
                let content = block.next();
                if (is_near || content.len() > SHORT) && self.row_at(own, content).has(number) {
                    found.push(own);
                }
            }
            at = block.at;
        }
        found
    }

    /// Returns how many rows there are.
    pub(crate) fn objects(&self) -> u32 {
        self.objects
    }

    /// Returns an upper bound for the numbers in all rows.
    pub(crate) fn most(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl<'a> Row<'a> {
    /// Returns its length in bytes.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if the row has a number.
    fn has(self, wanted: u32) -> bool {
        self.numbers().any(|number| number == wanted)
    }

    /// Iterates over its numbers.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.start();
        std::iter::from_fn(move || self.next(&mut at))
    }

    /// Returns the position before its first number.
    #[inline]
    pub(crate) fn start(&self) -> Cursor {
        Cursor {
            at: 0,
            last: self.own,
        }
    }

    /// Returns the number at a position of the row, and moves after it; `None` at the end, and at what cannot be a number.
    #[inline]
    pub(crate) fn next(&self, cursor: &mut Cursor) -> Option<u32> {
        if cursor.at >= self.bytes.len() {
            return None;
        }
        let difference = varint::unfold(varint::read(self.bytes, &mut cursor.at));
        let number = i64::from(cursor.last).wrapping_add(difference) as u64;
        if number >= u64::from(self.objects) {
            cursor.at = self.bytes.len();
            return None;
        }
        cursor.last = number as u32;
        Some(number as u32)
    }
}

/// Returns the number of the starts of so many rows, with the end of the last one.
fn blocks(objects: u32) -> usize {
    (objects as usize).div_ceil(BLOCK) + 1
}

/// Rows while they are collected, one after the other.
#[derive(Default)]
pub(crate) struct NewRows {
    bytes: Vec<u8>,
    /// The last number of the row that is being collected.
    last: Option<u32>,
}

impl NewRows {
    /// Adds a number to the row of an object.
    #[inline]
    pub(crate) fn push(&mut self, own: u32, number: u32) {
        let before = self.last.replace(number).unwrap_or(own);
        let difference = i64::from(number) - i64::from(before);
        varint::write(varint::fold(difference), &mut self.bytes);
    }

    /// Ends a row; returns where it ends, and the next one begins.
    #[inline]
    pub(crate) fn end(&mut self) -> usize {
        self.last = None;
        self.bytes.len()
    }

    /// Returns the row between two ends.
    #[inline]
    pub(crate) fn row(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.last = None;
    }
}

/// Rows that are added in the order of their objects.
pub(crate) struct Appended {
    starts: Offsets,
    bytes: Growing<u8>,
    rows: usize,
    /// The last block: the lengths and the rows.
    lengths: u64,
    block: Vec<u8>,
}

impl Appended {
    /// Starts with no rows. There will be one for each of so many objects, with at most `most` numbers in all rows.
    pub(crate) fn new(objects: u32, most: u64, memory: &Memory) -> io::Result<Appended> {
        Ok(Appended {
            starts: Offsets::table(blocks(objects), most_bytes(objects, most), memory)?,
            bytes: memory.growing(),
            rows: 0,
            lengths: 0,
            block: Vec::new(),
        })
    }

    /// Adds the row of an object. Objects that were left out have empty rows.
    #[inline]
    pub(crate) fn add(&mut self, own: u32, row: &[u8]) {
        while self.rows < own as usize {
            self.append(&[]);
        }
        self.append(row);
    }

    #[inline]
    fn append(&mut self, content: &[u8]) {
        let length = content.len().min(LONG);
        self.lengths |= (length as u64) << (4 * (self.rows % BLOCK));
        if length == LONG {
            varint::write(content.len() as u64, &mut self.block);
        }
        self.block.extend_from_slice(content);
        self.rows += 1;
        if self.rows.is_multiple_of(BLOCK) {
            self.write_block();
        }
    }

    fn write_block(&mut self) {
        self.bytes.extend(&self.lengths.to_le_bytes());
        self.bytes.extend(&self.block);
        self.lengths = 0;
        self.block.clear();
        let blocks = self.rows.div_ceil(BLOCK);
        self.starts.set(blocks, self.bytes.len() as u64);
    }

    /// Returns the rows of all objects.
    pub(crate) fn finish(mut self, objects: u32, memory: &Memory) -> io::Result<Rows> {
        while self.rows < objects as usize {
            self.append(&[]);
        }
        if !self.rows.is_multiple_of(BLOCK) {
            self.write_block();
        }
        Ok(Rows {
            starts: self.starts.narrow(memory)?,
            bytes: self.bytes.finish()?,
            objects,
        })
    }
}

/// Rows that come in any order: first all of their lengths, then their contents.
pub(crate) struct Lengths {
    /// The bytes of each row; those of a block's lengths are before its first row.
    bytes: Offsets,
    objects: u32,
}

/// Returns the bytes before a row that are not its own.
fn before(row: usize) -> usize {
    match row % BLOCK {
        0 => LENGTHS,
        _ => 0,
    }
}

impl Lengths {
    /// Starts with empty rows. There is one for each of so many objects, with at most `most` numbers in all rows.
    pub(crate) fn new(objects: u32, most: u64, memory: &Memory) -> io::Result<Lengths> {
        let mut bytes = Offsets::new(objects as usize, most_bytes(objects, most), memory)?;
        (0..objects as usize).for_each(|row| bytes.set(row, before(row) as u64));
        Ok(Lengths { bytes, objects })
    }

    /// Sets the length of the row of an object.
    pub(crate) fn set(&mut self, own: u32, row: &[u8]) {
        let content = row.len();
        let length = if content < LONG {
            0
        } else {
            varint::width(content as u64)
        };
        let bytes = before(own as usize) as u64 + length + content as u64;
        self.bytes.set(own as usize, bytes);
    }

    /// Begins with the contents.
    pub(crate) fn fill(mut self, memory: &Memory) -> io::Result<Filled> {
        let total = self.bytes.add_up();
        Ok(Filled {
            ends: self.bytes,
            objects: self.objects,
            bytes: memory.table(total as usize)?,
        })
    }
}

/// Rows of known lengths.
pub(crate) struct Filled {
    ends: Offsets,
    objects: u32,
    pub(super) bytes: Numbers<u8>,
}

impl Filled {
    /// Writes the row of an object.
    pub(crate) fn set(&mut self, own: u32, row: &[u8]) {
        let own = own as usize;
        let range = self.start(own) + before(own)..self.ends.get(own) as usize;
        let room = range.len() as u64;
        // In a file that is being changed a row may have another length now; whatever is written then, the rows after
        // it must stay where they are.
        let mut length = Vec::new();
        if room >= LONG as u64 {
            let fitting = (1..=room).map(|width| (width, room - width));
            let fitting = fitting.filter(|&(width, content)| varint::width(content) == width);
            // The first pass has left room for its own length.
            let content = fitting.map(|(_, content)| content).next();
            varint::write(content.unwrap_or_default(), &mut length);
        }
        let (head, content) = self.bytes[range].split_at_mut(length.len());
        head.copy_from_slice(&length);
        let (content, rest) = content.split_at_mut(row.len().min(content.len()));
        content.copy_from_slice(&row[..content.len()]);
        rest.fill(0);
        let lengths = self.start(own / BLOCK * BLOCK);
        let half = room.min(LONG as u64) as u8;
        self.bytes[lengths + own % BLOCK / 2] |= half << (4 * (own % 2));
    }

    /// Returns the byte after the row before.
    fn start(&self, row: usize) -> usize {
        row.checked_sub(1)
            .map_or(0, |before| self.ends.get(before) as usize)
    }

    /// Returns the rows of all objects.
    pub(crate) fn finish(self, memory: &Memory) -> io::Result<Rows> {
        let count = blocks(self.objects);
        let mut starts = Offsets::table(count, self.bytes.len() as u64, memory)?;
        for place in 0..count {
            let row = (place * BLOCK).min(self.objects as usize);
            starts.set(place, self.start(row) as u64);
        }
        Ok(Rows {
            starts,
            bytes: self.bytes,
            objects: self.objects,
        })
    }
}

fn most_bytes(objects: u32, numbers: u64) -> u64 {
    // The length of a row has no more bytes than the row.
    2 * numbers * MOST_BYTES + (blocks(objects) * LENGTHS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_rows(rows: &Rows, expected: &[Vec<u32>]) {
        let numbers = |row: Row<'_>| {
            let mut at = row.start();
            std::iter::from_fn(|| row.next(&mut at)).collect::<Vec<u32>>()
        };
        for (own, expected) in (0..).zip(expected) {
            assert_eq!(&numbers(rows.row(own)), expected, "row {own}");
        }
        let all: Vec<_> = rows
            .iter_in(0..rows.objects)
            .map(|(own, row)| (own, numbers(row)))
            .collect();
        let expected: Vec<_> = (0..).zip(expected.iter().cloned()).collect();
        assert_eq!(all, expected);
        assert!(rows.most() >= expected.iter().map(|(_, row)| row.len() as u64).sum());
    }

    fn collected(own: u32, numbers: &[u32]) -> Vec<u8> {
        let mut rows = NewRows::default();
        numbers.iter().for_each(|&number| rows.push(own, number));
        let end = rows.end();
        rows.row(0..end).to_vec()
    }

    proptest! {
        #[test]
        fn rows_are_what_was_put_into_them(
            expected in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![any::<u32>(), 0..100_u32], 0..70),
                0..70,
            ),
        ) {
            // All numbers are those of objects.
            let objects = expected.len() as u32;
            let below = |row: Vec<u32>| row.into_iter().map(|number| number % objects).collect();
            let expected: Vec<Vec<u32>> = expected.into_iter().map(below).collect();
            let memory = Memory::unlimited();
            let most = expected.iter().map(Vec::len).sum::<usize>() as u64;
            let mut appended = Appended::new(objects, most, &memory).expect("there is memory");
            for (own, numbers) in (0..).zip(&expected).filter(|(_, numbers)| !numbers.is_empty()) {
                appended.add(own, &collected(own, numbers));
            }
            assert_rows(&appended.finish(objects, &memory).expect("there is memory"), &expected);

            let mut lengths = Lengths::new(objects, most, &memory).expect("there is memory");
            for (own, numbers) in (0..objects).zip(&expected).rev() {
                lengths.set(own, &collected(own, numbers));
            }
            let mut filled = lengths.fill(&memory).expect("there is memory");
            for (own, numbers) in (0..objects).zip(&expected).rev() {
                filled.set(own, &collected(own, numbers));
            }
            assert_rows(&filled.finish(&memory).expect("there is memory"), &expected);
        }
    }

    #[test]
    fn the_rows_with_a_number_are_found_near_it_and_far_away() {
        let memory = Memory::unlimited();
        let objects = 3 * NEAR;
        let last = objects - 1;
        // The greatest difference of three bytes.
        let greatest = vec![18 + NEAR - 1];
        let rows = [
            (0, vec![last]),
            (17, vec![18, 19, last]),
            (18, greatest.clone()),
            (19, vec![last; 4]),
            (20, (0..40).collect()),
            (21, vec![21 + NEAR - 1, 21 + 2 * (NEAR - 1)]),
            (40, vec![1, 2, 3, 39]),
            (NEAR + 22, vec![22]),
            (NEAR + 100, vec![last, 0]),
            (last - 20, vec![last]),
            (last, vec![last, 5, greatest[0]]),
        ];
        let mut all = Appended::new(objects, 100, &memory).expect("there is memory");
        for (own, numbers) in &rows {
            all.add(*own, &collected(*own, numbers));
        }
        let all = all.finish(objects, &memory).expect("there is memory");
        let numbers = rows.iter().flat_map(|(_, numbers)| numbers.clone());
        for number in numbers.chain([NEAR]) {
            let with = rows.iter().filter(|(_, numbers)| numbers.contains(&number));
            let expected: Vec<u32> = with.map(|&(own, _)| own).collect();
            assert_eq!(all.with(number, 0..objects), expected, "{number}");
        }
        assert_eq!(all.with(last, 16..20), [17, 19]);
        assert_eq!(all.with(last, NEAR / 16 * 16..objects).len(), 3);
    }

    #[test]
    fn a_row_that_has_become_longer_or_shorter_leaves_the_others_in_place() {
        let memory = Memory::unlimited();
        let mut lengths = Lengths::new(3, 1000, &memory).expect("there is memory");
        lengths.set(1, &collected(1, &[2; 200]));
        lengths.set(2, &collected(2, &[1]));
        let mut filled = lengths.fill(&memory).expect("there is memory");
        for numbers in [1, 500] {
            filled.set(1, &collected(1, &vec![2; numbers]));
        }
        assert_eq!(filled.bytes[..LENGTHS], [0xf0, 0, 0, 0, 0, 0, 0, 0]);
        filled.set(2, &collected(2, &[1]));
        let rows = filled.finish(&memory).expect("there is memory");
        let last = rows.row(2);
        let mut at = last.start();
        assert_eq!((last.next(&mut at), last.next(&mut at)), (Some(1), None));
    }
}
