//! Rows of object numbers in few bytes: an object mostly refers to objects near it.
//!
//! A row is its length in bytes, then for each number its difference from that of the row's own object, with the sign in
//! the lowest bit; all in the form of [`varint`].

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Growing, Memory, Numbers, Offsets};
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The distance between rows whose starts are stored; the others are found from there by the rows' lengths.
const STRIDE: usize = 4;
/// The most bytes of a difference, which has 33 bits and a sign.
const MOST_BYTES: u64 = 5;

/// A row for each object.
#[derive(Debug)]
pub(crate) struct Rows {
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

impl Rows {
    /// Returns the row of an object.
    #[inline]
    pub(crate) fn row(&self, own: u32) -> Row<'_> {
        let bytes = &self.bytes[..];
        let mut at = self.starts.get(own as usize / STRIDE) as usize;
        for _ in 0..own as usize % STRIDE {
            at = content(bytes, at).end;
        }
        self.row_at(own, content(bytes, at))
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
        match &self.starts {
            Offsets::Short(starts) => {
                out.table::<u64>(&[])?;
                out.table(starts)?;
            }
            Offsets::Long(starts) => out.table(starts)?,
        }
        out.table(&self.bytes)
    }

    /// Reads the rows of this many objects; `None` if there are fewer.
    pub(crate) fn load(index: &mut SectionReader, objects: u32) -> Option<Rows> {
        let long: Numbers<u64> = index.table()?;
        let starts = match long.is_empty() {
            true => Offsets::Short(index.table()?),
            false => Offsets::Long(long),
        };
        let bytes = index.table()?;
        let least = objects as usize / STRIDE + 1;
        (starts.len() >= least).then_some(Rows {
            starts,
            bytes,
            objects,
        })
    }

    /// Iterates over the rows of all objects.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Row<'_>)> {
        let bytes = &self.bytes[..];
        let mut at = 0;
        (0..self.objects).map_while(move |own| {
            let content = (at < bytes.len()).then(|| content(bytes, at))?;
            at = content.end;
            Some((own, self.row_at(own, content)))
        })
    }

    /// Returns an upper bound for the numbers in all rows.
    pub(crate) fn most(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl Row<'_> {
    /// Returns its length in bytes.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if the row has a number.
    pub(crate) fn has(&self, wanted: u32) -> bool {
        let mut at = 0;
        std::iter::from_fn(|| self.next(&mut at)).any(|number| number == wanted)
    }

    /// Returns the number at a byte of the row, and moves `at` behind it; `None` at the end, and at what cannot be a
    /// number.
    #[inline]
    pub(crate) fn next(&self, at: &mut usize) -> Option<u32> {
        if *at >= self.bytes.len() {
            return None;
        }
        let difference = varint::unfold(varint::read(self.bytes, at));
        let number = i64::from(self.own).wrapping_add(difference) as u64;
        if number >= u64::from(self.objects) {
            *at = self.bytes.len();
            return None;
        }
        Some(number as u32)
    }
}

/// A row while it is collected.
#[derive(Default)]
pub(crate) struct NewRow(Vec<u8>);

impl NewRow {
    /// Adds a number to the row of an object.
    #[inline]
    pub(crate) fn push(&mut self, own: u32, number: u32) {
        let difference = i64::from(number) - i64::from(own);
        varint::write(varint::fold(difference), &mut self.0);
    }
}

/// Rows that are added in the order of their objects.
pub(crate) struct Appended {
    starts: Offsets,
    bytes: Growing<u8>,
    rows: usize,
    length: Vec<u8>,
}

impl Appended {
    /// Starts with no rows. There will be one for each of so many objects, with at most `most` numbers in all rows.
    pub(crate) fn new(objects: u32, most: u64, memory: &Memory) -> io::Result<Appended> {
        let starts = objects as usize / STRIDE + 1;
        Ok(Appended {
            starts: Offsets::new(starts, most_bytes(objects, most), memory)?,
            bytes: memory.growing(),
            rows: 0,
            length: Vec::new(),
        })
    }

    /// Adds the row of an object, and makes `row` empty. Objects that were left out have empty rows.
    #[inline]
    pub(crate) fn add(&mut self, own: u32, row: &mut NewRow) {
        while self.rows < own as usize {
            self.append(&[]);
        }
        self.append(&row.0);
        row.0.clear();
    }

    #[inline]
    fn append(&mut self, content: &[u8]) {
        if self.rows.is_multiple_of(STRIDE) {
            self.starts.set(self.rows / STRIDE, self.bytes.len() as u64);
        }
        self.rows += 1;
        self.length.clear();
        varint::write(content.len() as u64, &mut self.length);
        self.bytes.extend(&self.length);
        self.bytes.extend(content);
    }

    /// Returns the rows of all objects.
    pub(crate) fn finish(mut self, objects: u32) -> io::Result<Rows> {
        while self.rows < objects as usize {
            self.append(&[]);
        }
        Ok(Rows {
            starts: self.starts,
            bytes: self.bytes.finish()?,
            objects,
        })
    }
}

/// Rows that come in any order: first all of their lengths, then their contents.
pub(crate) struct Lengths {
    /// The bytes of each row.
    bytes: Offsets,
    objects: u32,
}

impl Lengths {
    /// Starts with empty rows. There is one for each of so many objects, with at most `most` numbers in all rows.
    pub(crate) fn new(objects: u32, most: u64, memory: &Memory) -> io::Result<Lengths> {
        let mut bytes = Offsets::new(objects as usize, most_bytes(objects, most), memory)?;
        (0..objects as usize).for_each(|row| bytes.set(row, 1));
        Ok(Lengths { bytes, objects })
    }

    /// Sets the length of the row of an object, and makes `row` empty.
    pub(crate) fn set(&mut self, own: u32, row: &mut NewRow) {
        let content = row.0.len() as u64;
        self.bytes
            .set(own as usize, varint::width(content) + content);
        row.0.clear();
    }

    /// Goes on to the contents.
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
    bytes: Numbers<u8>,
}

impl Filled {
    /// Writes the row of an object, and makes `row` empty.
    pub(crate) fn set(&mut self, own: u32, row: &mut NewRow) {
        let range = self.start(own as usize)..self.ends.get(own as usize) as usize;
        let mut content = std::mem::take(&mut row.0);
        let room = range.len() as u64;
        // In a file that is being changed a row may have another length now; whatever is written then, the rows after
        // it must stay where they are.
        let fitting = (1..=room).find_map(|width_of_length| {
            let length = room - width_of_length;
            (varint::width(length) == width_of_length).then_some(length)
        });
        content.resize(fitting.unwrap_or_default() as usize, 0);
        let mut bytes = Vec::new();
        varint::write(content.len() as u64, &mut bytes);
        bytes.extend_from_slice(&content);
        self.bytes[range].copy_from_slice(&bytes);
        content.clear();
        row.0 = content;
    }

    fn start(&self, row: usize) -> usize {
        row.checked_sub(1)
            .map_or(0, |before| self.ends.get(before) as usize)
    }

    /// Returns the rows of all objects.
    pub(crate) fn finish(self, memory: &Memory) -> io::Result<Rows> {
        let count = self.objects as usize / STRIDE + 1;
        let mut starts = Offsets::new(count, self.bytes.len() as u64, memory)?;
        for place in (0..count).filter(|place| place * STRIDE < self.objects as usize) {
            starts.set(place, self.start(place * STRIDE) as u64);
        }
        Ok(Rows {
            starts,
            bytes: self.bytes,
            objects: self.objects,
        })
    }
}

fn most_bytes(objects: u32, numbers: u64) -> u64 {
    // The length of a row has no more bytes than the row, and at least one.
    2 * numbers * MOST_BYTES + u64::from(objects)
}

/// Returns the place of the content of the row that starts at a byte.
#[inline]
fn content(bytes: &[u8], start: usize) -> Range<usize> {
    let mut at = start;
    let length = varint::read(bytes, &mut at) as usize;
    at..at.saturating_add(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_rows(rows: &Rows, expected: &[Vec<u32>]) {
        let numbers = |row: Row<'_>| {
            let mut at = 0;
            std::iter::from_fn(|| row.next(&mut at)).collect::<Vec<u32>>()
        };
        for (own, expected) in (0..).zip(expected) {
            assert_eq!(&numbers(rows.row(own)), expected, "row {own}");
        }
        let all: Vec<_> = rows.iter().map(|(own, row)| (own, numbers(row))).collect();
        let expected: Vec<_> = (0..).zip(expected.iter().cloned()).collect();
        assert_eq!(all, expected);
        assert!(rows.most() >= expected.iter().map(|(_, row)| row.len() as u64).sum());
    }

    fn collected(own: u32, numbers: &[u32], row: &mut NewRow) {
        numbers.iter().for_each(|&number| row.push(own, number));
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
            let mut row = NewRow::default();
            let mut appended = Appended::new(objects, most, &memory).expect("there is memory");
            for (own, numbers) in (0..).zip(&expected).filter(|(_, numbers)| !numbers.is_empty()) {
                collected(own, numbers, &mut row);
                appended.add(own, &mut row);
            }
            assert_rows(&appended.finish(objects).expect("there is memory"), &expected);

            let mut lengths = Lengths::new(objects, most, &memory).expect("there is memory");
            for (own, numbers) in (0..objects).zip(&expected).rev() {
                collected(own, numbers, &mut row);
                lengths.set(own, &mut row);
            }
            let mut filled = lengths.fill(&memory).expect("there is memory");
            for (own, numbers) in (0..objects).zip(&expected).rev() {
                collected(own, numbers, &mut row);
                filled.set(own, &mut row);
            }
            assert_rows(&filled.finish(&memory).expect("there is memory"), &expected);
        }
    }

    #[test]
    fn a_row_that_has_become_longer_or_shorter_leaves_the_others_in_place() {
        let memory = Memory::unlimited();
        let mut row = NewRow::default();
        let mut lengths = Lengths::new(3, 1000, &memory).expect("there is memory");
        collected(1, &[2; 200], &mut row);
        lengths.set(1, &mut row);
        collected(2, &[1], &mut row);
        lengths.set(2, &mut row);
        let mut filled = lengths.fill(&memory).expect("there is memory");
        for numbers in [1, 500] {
            collected(1, &vec![2; numbers], &mut row);
            filled.set(1, &mut row);
        }
        collected(2, &[1], &mut row);
        filled.set(2, &mut row);
        let rows = filled.finish(&memory).expect("there is memory");
        let (last, mut at) = (rows.row(2), 0);
        assert_eq!((last.next(&mut at), last.next(&mut at)), (Some(1), None));
    }
}
