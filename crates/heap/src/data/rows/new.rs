//! Rows that are being made.

use std::io;
use std::ops::Range;

use crate::data::memory::{Growing, Memory, Numbers};
use crate::data::offsets::Offsets;
use crate::data::rows::{BLOCK, LENGTHS, LONG, Rows, blocks};
use crate::data::varint;

/// The most bytes of a difference, which has 33 bits and a sign.
const MOST_BYTES: u64 = 5;

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
