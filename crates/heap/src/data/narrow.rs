//! A column of numbers that all take as few bits as the greatest needs.

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};

/// The most bits of a number.
const MOST: u32 = u16::BITS;
/// The bits at first, and by which it becomes wider.
const FIRST: u32 = 8;
const STEP: u32 = 4;
/// The bytes that are read or written at once: those that may have bits of one number.
const BYTES: usize = 4;

/// A column of numbers of at most 16 bits, which can be set in any order. It becomes wider when a number does not fit.
#[derive(Debug)]
pub(crate) struct Narrow {
    bits: u32,
    bytes: Numbers<u8>,
    count: usize,
    /// All numbers from here on are 0.
    used: usize,
}

/// Returns the bytes that so many numbers take.
fn bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8) + BYTES
}

impl Narrow {
    /// Creates a column of so many zeros.
    pub(crate) fn new(count: usize, memory: &Memory) -> io::Result<Narrow> {
        Ok(Narrow {
            bits: FIRST,
            // What is not used is never allocated.
            bytes: memory.table(bytes(count, MOST))?,
            count,
            used: 0,
        })
    }

    /// Returns how many numbers it has.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns how many different numbers fit.
    pub(crate) fn range(&self) -> usize {
        1 << self.bits
    }

    /// Returns the bytes with the number at an index, and the position of its lowest bit in them.
    #[inline]
    fn position(&self, index: usize) -> (usize, usize) {
        let bit = index * self.bits as usize;
        (bit / 8, bit % 8)
    }

    /// Returns the number at an index, which is below the length.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u16 {
        let (byte, shift) = self.position(index);
        let bytes = self.bytes[byte..].first_chunk::<BYTES>();
        let bits = bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes)) >> shift;
        (bits & ((1 << self.bits) - 1)) as u16
    }

    /// Calls `visit` with the numbers at a range of indexes, which are below the length.
    #[inline]
    pub(crate) fn each_in(&self, range: Range<usize>, mut visit: impl FnMut(u16)) {
        let (width, bytes) = (self.bits as usize, &self.bytes[..]);
        let mask = (1 << width) - 1;
        let mut bit = range.start * width;
        for _ in range {
            let found = bytes.get(bit / 8..).and_then(<[u8]>::first_chunk::<BYTES>);
            let bits = found.map_or(0, |&bytes| u32::from_le_bytes(bytes)) >> (bit % 8);
            visit((bits & mask) as u16);
            bit += width;
        }
    }

    /// Sets the number at an index, which is below the length.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, number: u16) {
        if usize::from(number) >= self.range() {
            self.widen(number);
        }
        self.used = self.used.max(index + 1);
        self.put(index, number);
    }

    #[inline]
    fn put(&mut self, index: usize, number: u16) {
        let (byte, shift) = self.position(index);
        let mask = ((1 << self.bits) - 1) << shift;
        if let Some(bytes) = self.bytes[byte..].first_chunk_mut::<BYTES>() {
            let others = u32::from_le_bytes(*bytes) & !mask;
            *bytes = (others | u32::from(number) << shift).to_le_bytes();
        }
    }

    /// Makes room for a number for each of them. Few widths are tried, because all numbers are moved each time.
    #[cold]
    fn widen(&mut self, number: u16) {
        let needed = u16::BITS - number.leading_zeros();
        self.repack(needed.next_multiple_of(STEP).min(MOST));
    }

    fn repack(&mut self, bits: u32) {
        let (before, used, count) = (self.bits, self.used, self.count);
        let mut repack = |index| {
            self.bits = before;
            let number = self.get(index);
            self.bits = bits;
            self.put(index, number);
        };
        // No number is overwritten that is still to be moved. The zeros after `used` come to be where numbers were if the
        // column becomes narrower.
        match bits > before {
            true => (0..used).rev().for_each(&mut repack),
            false => (0..count).for_each(&mut repack),
        }
        self.bits = bits;
    }

    /// Frees what numbers that are not below `range` would take.
    pub(crate) fn finish(&mut self, range: usize) {
        let needed = usize::BITS - range.saturating_sub(1).leading_zeros();
        if needed.max(1) < self.bits {
            self.repack(needed.max(1));
        }
        self.bytes.truncate(bytes(self.count, self.bits));
    }

    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&[u64::from(self.bits)])?;
        out.table(&self.bytes[..bytes(self.count, self.bits)])
    }

    /// Reads a column of so many numbers, which may be any below [`Narrow::range`]; `None` if it has others.
    pub(crate) fn load(index: &mut SectionReader, count: usize) -> Option<Narrow> {
        let bits = u32::try_from(index.one::<u64>()?).ok()?;
        let bits = Some(bits).filter(|bits| (1..=MOST).contains(bits))?;
        let table: Numbers<u8> = index.table()?;
        (table.len() == bytes(count, bits)).then_some(Narrow {
            bits,
            bytes: table,
            count,
            used: count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_has_the_numbers_that_were_set(
            set in proptest::collection::vec((0..100_usize, 0..16_u32, any::<u16>()), 0..300),
            start in 0..100_usize,
        ) {
            let mut column = Narrow::new(100, &Memory::unlimited()).expect("there is memory");
            let mut expected = [0; 100];
            for (index, bits, number) in set {
                let number = number >> bits;
                column.set(index, number);
                expected[index] = number;
                assert!(expected.iter().enumerate().all(|(index, &number)| column.get(index) == number));
            }
            column.finish(usize::from(expected.iter().copied().max().unwrap_or(0)) + 1);
            assert!(expected.iter().enumerate().all(|(index, &number)| column.get(index) == number));
            let mut found = Vec::new();
            column.each_in(start..100, |number| found.push(number));
            assert_eq!(found, expected[start..]);
        }
    }

    #[test]
    fn a_column_is_as_wide_as_its_greatest_number() {
        let mut column = Narrow::new(800, &Memory::unlimited()).expect("there is memory");
        column.set(7, 31);
        column.finish(32);
        assert_eq!((column.bytes.len(), column.range()), (500 + BYTES, 32));
    }
}
