//! Columns of numbers in few bytes, for numbers that mostly are small.
//!
//! A [`Packed`] column takes half a byte for a number, and another half for each four bits of it. Any number is found in
//! constant time. The numbers come in blocks of [`BLOCK`]: a word with the length of each in half bytes, then the half
//! bytes of all of them, up to a whole byte. The start of every [`STRIDE`]th block is stored, the others follow from the
//! lengths.
//!
//! A [`Sequence`] is such a column of the differences between numbers that mostly are near the ones before them.

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Memory, Numbers};
use crate::data::offsets::Offsets;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The numbers in a block: as many as a word has half bytes.
const BLOCK: usize = 16;
/// The bytes of the word with the lengths.
const LENGTHS: usize = 8;
/// The distance between blocks whose starts are stored.
const STRIDE: usize = 2;
/// The most half bytes of a number in a column: enough for a folded difference of two numbers of 32 bits, plus one.
const MOST: u32 = 9;
/// The most bytes of a block.
const MOST_BYTES: usize = LENGTHS + BLOCK * MOST as usize / 2;
/// The bytes after the last block, so that a word can be read from any byte of it.
const BEHIND: usize = 8;

/// A column of numbers below 2^36.
#[derive(Debug)]
pub(crate) struct Packed {
    starts: Offsets,
    bytes: Numbers<u8>,
    count: usize,
}

/// Returns the word at a byte; zeros where the bytes have ended: they may be those of a damaged index.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |&word| u64::from_le_bytes(word))
}

/// Returns the sum of a word's half bytes.
#[inline]
pub(crate) fn sum_of_halves(word: u64) -> usize {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let bytes = (word & LOW) + (word >> 4 & LOW);
    (bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize
}

/// Returns the word's lowest `halves` half bytes, of which there may be 15.
#[inline]
fn lowest(word: u64, halves: usize) -> u64 {
    word & ((1 << (4 * halves)) - 1)
}

/// A block of a column.
struct Block<'a> {
    bytes: &'a [u8],
    /// The byte after the lengths.
    start: usize,
    lengths: u64,
}

impl<'a> Block<'a> {
    #[inline]
    fn at(bytes: &'a [u8], start: usize) -> Block<'a> {
        Block {
            bytes,
            lengths: word(bytes, start),
            start: start.saturating_add(LENGTHS),
        }
    }

    /// Returns the byte after it.
    #[inline]
    fn end(&self) -> usize {
        let halves = sum_of_halves(self.lengths);
        self.start.saturating_add(halves.div_ceil(2))
    }

    /// Returns the number of so many half bytes that begins at a half byte.
    #[inline]
    fn number(&self, half: usize, length: usize) -> u64 {
        let word = word(self.bytes, self.start.saturating_add(half / 2));
        lowest(word >> (4 * (half % 2)), length)
    }

    #[inline]
    fn get(&self, index: usize) -> u64 {
        let length = lowest(self.lengths >> (4 * index), 1) as usize;
        self.number(sum_of_halves(lowest(self.lengths, index)), length)
    }

    /// Calls `visit` with its first numbers.
    #[inline]
    fn each(&self, count: usize, mut visit: impl FnMut(u64)) {
        let (mut lengths, mut half) = (self.lengths, 0);
        for _ in 0..count {
            let length = (lengths & 15) as usize;
            visit(self.number(half, length));
            half += length;
            lengths >>= 4;
        }
    }
}

impl Packed {
    #[inline]
    fn block(&self, block: usize) -> Block<'_> {
        let bytes = &self.bytes[..];
        let mut found = Block::at(bytes, self.starts.get(block / STRIDE) as usize);
        for _ in 0..block % STRIDE {
            found = Block::at(bytes, found.end());
        }
        found
    }

    /// Returns how many numbers it has.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the number at an index, which is below the length.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        self.block(index / BLOCK).get(index % BLOCK)
    }

    /// Returns a reader for numbers most of which are near the one before.
    pub(crate) fn near(&self) -> Near<'_> {
        Near {
            column: self,
            last: None,
        }
    }

    /// Calls `visit` with all numbers, in their order.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(u64)) {
        let bytes = &self.bytes[..];
        let mut at = 0;
        for first in (0..self.count).step_by(BLOCK) {
            let block = Block::at(bytes, at);
            block.each(BLOCK.min(self.count - first), &mut visit);
            at = block.end();
        }
    }

    /// Gives back the memory of numbers that have been read and are in an index.
    fn release(&self, numbers: Range<usize>) {
        let start = |index: usize| {
            let stored = index / (BLOCK * STRIDE);
            let is_within = stored < self.starts.len();
            is_within.then(|| self.starts.get(stored) as usize)
        };
        let end = start(numbers.end).unwrap_or(self.bytes.len());
        let start = start(numbers.start).unwrap_or(end).min(end);
        self.bytes.release(start..end);
    }

    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&[self.count as u64])?;
        self.starts.save(out)?;
        out.table(&self.bytes)
    }

    /// Reads it; `None` if it is damaged. Its numbers may be any of 60 bits.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Packed> {
        let count = usize::try_from(index.one::<u64>()?).ok()?;
        let starts = Offsets::load(index)?;
        let bytes = index.table()?;
        (starts.len() == count.div_ceil(BLOCK * STRIDE)).then_some(Packed {
            starts,
            bytes,
            count,
        })
    }
}

/// A reader that remembers the block of the last number.
pub(crate) struct Near<'a> {
    column: &'a Packed,
    last: Option<(usize, Block<'a>)>,
}

impl Near<'_> {
    /// Returns the number at an index, which is below the length.
    #[inline]
    pub(crate) fn get(&mut self, index: usize) -> u64 {
        let number = index / BLOCK;
        let last = self.last.take().filter(|&(last, _)| last == number);
        let (_, block) = self
            .last
            .insert(last.unwrap_or_else(|| (number, self.column.block(number))));
        block.get(index % BLOCK)
    }
}

/// A column while its numbers are added.
pub(crate) struct PackedWriter {
    column: Packed,
    used: usize,
    block: [u64; BLOCK],
}

impl PackedWriter {
    /// Starts a column of at most so many numbers.
    pub(crate) fn new(most: usize, memory: &Memory) -> io::Result<PackedWriter> {
        let bytes = most.div_ceil(BLOCK) * MOST_BYTES + BEHIND;
        Ok(PackedWriter {
            column: Packed {
                starts: Offsets::table(most.div_ceil(BLOCK * STRIDE), bytes as u64, memory)?,
                // What is not used is never allocated.
                bytes: memory.table(bytes)?,
                count: 0,
            },
            used: 0,
            block: [0; BLOCK],
        })
    }

    /// Adds a number below 2^36.
    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        self.block[self.column.count % BLOCK] = number;
        self.column.count += 1;
        if self.column.count.is_multiple_of(BLOCK) {
            self.write_block(BLOCK);
        }
    }

    fn write_block(&mut self, count: usize) {
        let block = (self.column.count - 1) / BLOCK;
        if block.is_multiple_of(STRIDE) {
            self.column.starts.set(block / STRIDE, self.used as u64);
        }
        let bytes = &mut self.column.bytes[self.used..][..MOST_BYTES + BEHIND];
        let (mut lengths, mut halves) = (0, 0);
        // The last half bytes, which are not written yet.
        let mut rest = 0;
        for (index, &number) in self.block[..count].iter().enumerate() {
            let length = (u64::BITS - number.leading_zeros()).div_ceil(4).min(MOST);
            lengths |= u64::from(length) << (4 * index);
            let at = LENGTHS + halves / 2;
            let word = number << (4 * (halves % 2)) | rest;
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            let before = halves;
            halves += length as usize;
            // Whole bytes are written, and half a one may be left.
            rest = word >> (8 * (halves / 2 - before / 2));
        }
        bytes[..LENGTHS].copy_from_slice(&u64::to_le_bytes(lengths));
        self.used += LENGTHS + halves.div_ceil(2);
    }

    /// Returns the column.
    pub(crate) fn finish(mut self) -> Packed {
        if let last @ 1.. = self.column.count % BLOCK {
            self.write_block(last);
        }
        let mut column = self.column;
        column
            .starts
            .truncate(column.count.div_ceil(BLOCK * STRIDE));
        column.bytes.truncate(self.used + BEHIND);
        column
    }
}

/// Numbers that mostly are near the ones before them.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// The folded difference of each number from the one before it; the first of each block is the number itself.
    differences: Packed,
}

/// Returns the number with a difference from another one. That of a damaged index may be any.
#[inline]
fn with_difference(before: u32, folded: u64) -> u32 {
    i64::from(before).wrapping_add(varint::unfold(folded)) as u32
}

impl Sequence {
    /// Returns how many numbers it has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.differences.len()
    }

    /// Returns the number at an index, which is below the length.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u32 {
        let mut number = 0;
        let block = self.differences.block(index / BLOCK);
        block.each(index % BLOCK + 1, |folded| {
            number = with_difference(number, folded)
        });
        number
    }

    /// Returns a reader for numbers most of which are after the one before, and near it.
    pub(crate) fn near(&self) -> NearInSequence<'_> {
        NearInSequence {
            sequence: self,
            last: None,
            after: 0,
            numbers: [0; BLOCK],
        }
    }

    /// Iterates over the numbers from an index on.
    pub(crate) fn iter_from(&self, start: usize) -> impl Iterator<Item = u32> {
        let mut numbers = [0; BLOCK];
        let mut next = None;
        (start..self.len()).map(move |index| {
            let within = index % BLOCK;
            if within == 0 || next.is_none() {
                let block = match next {
                    Some(at) => Block::at(&self.differences.bytes, at),
                    None => self.differences.block(index / BLOCK),
                };
                let (mut number, mut used) = (0, 0);
                block.each(BLOCK, |folded| {
                    number = with_difference(number, folded);
                    numbers[used] = number;
                    used += 1;
                });
                next = Some(block.end());
            }
            numbers[within]
        })
    }

    /// Gives back the memory of numbers that have been read and are in an index.
    pub(crate) fn release(&self, numbers: Range<usize>) {
        self.differences.release(numbers);
    }

    /// Iterates over all numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.iter_from(0)
    }

    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.differences.save(out)
    }

    /// Reads it; `None` if it is damaged. Its numbers may be any.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Sequence> {
        let differences = Packed::load(index)?;
        Some(Sequence { differences })
    }
}

/// A reader that remembers the numbers of the last block.
pub(crate) struct NearInSequence<'a> {
    sequence: &'a Sequence,
    last: Option<usize>,
    /// The byte after the last block.
    after: usize,
    numbers: [u32; BLOCK],
}

impl NearInSequence<'_> {
    /// Returns the number at an index, which is below the length.
    #[inline]
    pub(crate) fn get(&mut self, index: usize) -> u32 {
        let number = index / BLOCK;
        if self.last != Some(number) {
            self.read(number);
        }
        self.numbers[index % BLOCK]
    }

    fn read(&mut self, number: usize) {
        let column = &self.sequence.differences;
        let is_next = self.last.is_some_and(|last| last + 1 == number);
        let block = if is_next {
            Block::at(&column.bytes, self.after)
        } else {
            column.block(number)
        };
        let (mut last, mut used) = (0, 0);
        block.each(BLOCK, |folded| {
            last = with_difference(last, folded);
            self.numbers[used] = last;
            used += 1;
        });
        (self.last, self.after) = (Some(number), block.end());
    }
}

/// A sequence while its numbers are added.
pub(crate) struct SequenceWriter {
    differences: PackedWriter,
    last: u32,
}

impl SequenceWriter {
    /// Starts a sequence of at most so many numbers.
    pub(crate) fn new(most: usize, memory: &Memory) -> io::Result<SequenceWriter> {
        Ok(SequenceWriter {
            differences: PackedWriter::new(most, memory)?,
            last: 0,
        })
    }

    #[inline]
    pub(crate) fn push(&mut self, number: u32) {
        let is_first = self.differences.column.count.is_multiple_of(BLOCK);
        let before = if is_first { 0 } else { self.last };
        let difference = i64::from(number) - i64::from(before);
        self.differences.push(varint::fold(difference));
        self.last = number;
    }

    /// Returns the sequence.
    pub(crate) fn finish(self) -> Sequence {
        let differences = self.differences.finish();
        Sequence { differences }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(numbers: &[u64], most: usize) -> Packed {
        let mut writer = PackedWriter::new(most, &Memory::unlimited()).expect("there is memory");
        numbers.iter().for_each(|&number| writer.push(number));
        writer.finish()
    }

    proptest! {
        #[test]
        fn a_column_has_the_numbers_that_were_put_into_it(
            numbers in proptest::collection::vec((0..36_u32, any::<u64>()), 0..300),
            unused in 0..100_usize,
        ) {
            let numbers: Vec<u64> = numbers
                .into_iter()
                .map(|(bits, number)| number & ((1 << bits) - 1) | 1 << bits >> 1)
                .collect();
            let column = packed(&numbers, numbers.len() + unused);
            assert_eq!(column.len(), numbers.len());
            for (index, &number) in numbers.iter().enumerate() {
                assert_eq!(column.get(index), number, "{index}");
            }
            let mut near = column.near();
            let some = (0..numbers.len()).step_by(3).chain((0..numbers.len()).rev());
            some.for_each(|index| assert_eq!(near.get(index), numbers[index], "{index}"));
            let mut all = Vec::new();
            column.each(|number| all.push(number));
            assert_eq!(all, numbers);
        }

        #[test]
        fn a_sequence_has_the_numbers_that_were_put_into_it(
            numbers in proptest::collection::vec(prop_oneof![any::<u32>(), 0..90_u32], 0..300),
            start in 0..300_usize,
        ) {
            let memory = Memory::unlimited();
            let mut writer = SequenceWriter::new(numbers.len(), &memory).expect("there is memory");
            numbers.iter().for_each(|&number| writer.push(number));
            let sequence = writer.finish();
            assert_eq!(sequence.len(), numbers.len());
            assert!(sequence.iter().eq(numbers.iter().copied()));
            let rest = numbers.iter().skip(start).copied();
            assert!(sequence.iter_from(start).eq(rest));
            for (index, &number) in numbers.iter().enumerate() {
                assert_eq!(sequence.get(index), number, "{index}");
            }
            let mut near = sequence.near();
            let some = (0..numbers.len()).step_by(3).chain((0..numbers.len()).rev());
            some.for_each(|index| assert_eq!(near.get(index), numbers[index], "{index}"));
        }
    }

    #[test]
    fn small_numbers_take_half_a_byte_and_one() {
        let zeros = packed(&[0; 64], 64).bytes.len() - BEHIND;
        let small = packed(&[15; 64], 64).bytes.len() - BEHIND;
        assert_eq!((zeros, small), (32, 64));
    }

    #[test]
    fn what_is_no_column_has_numbers_nevertheless() {
        let mut column = packed(&[7; 200], 200);
        column.bytes.fill(0xff);
        assert!((0..200).all(|index| column.get(index) < 1 << 60));
        column.bytes.truncate(9);
        assert!((0..200).all(|index| column.get(index) < 1 << 60));
        (0..4).for_each(|place| column.starts.set(place, u32::MAX.into()));
        assert!((0..200).all(|index| column.get(index) < 1 << 60));
        let mut numbers = 0;
        column.each(|_| numbers += 1);
        assert_eq!(numbers, 200);
    }
}
