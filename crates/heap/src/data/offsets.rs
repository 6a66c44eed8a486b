//! The starts of rows of different lengths in one table.

use std::io::{self, Write};
use std::ops::Range;

use crate::data::memory::{Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};

/// The starts of rows of different lengths in one table, all directly after each other.
#[derive(Debug)]
pub(crate) enum Offsets {
    Short(Numbers<u32>),
    Long(Numbers<u64>),
}

impl Offsets {
    /// Creates `rows` empty rows, with at most `most` entries together.
    pub(crate) fn new(rows: usize, most: u64, memory: &Memory) -> io::Result<Offsets> {
        Offsets::table(rows + 1, most, memory)
    }

    /// Creates so many starts, none of which is greater than `most`.
    pub(crate) fn table(starts: usize, most: u64, memory: &Memory) -> io::Result<Offsets> {
        Ok(if most <= u32::MAX.into() {
            Offsets::Short(memory.table(starts)?)
        } else {
            Offsets::Long(memory.table(starts)?)
        })
    }

    /// Keeps them in half the memory, if the last one, which is the greatest, allows it.
    pub(crate) fn narrow(self, memory: &Memory) -> io::Result<Offsets> {
        let long = match self {
            Offsets::Long(starts) if starts.last().is_none_or(|&last| last <= u32::MAX.into()) => {
                starts
            }
            other => return Ok(other),
        };
        let mut short: Numbers<u32> = memory.table(long.len())?;
        for (short, &start) in short.iter_mut().zip(&long[..]) {
            *short = start as u32;
        }
        Ok(Offsets::Short(short))
    }

    /// Frees all but the first `length` starts.
    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            Offsets::Short(starts) => starts.truncate(length),
            Offsets::Long(starts) => starts.truncate(length),
        }
    }

    /// Gives back the memory of starts that have been read and are in an index.
    pub(crate) fn release(&self, rows: Range<usize>) {
        match self {
            Offsets::Short(starts) => starts.release(rows),
            Offsets::Long(starts) => starts.release(rows),
        }
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        match self {
            Offsets::Short(starts) => {
                out.table::<u64>(&[])?;
                out.table(starts)
            }
            Offsets::Long(starts) => out.table(starts),
        }
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Offsets> {
        let long: Numbers<u64> = index.table()?;
        match long.is_empty() {
            true => Some(Offsets::Short(index.table()?)),
            false => Some(Offsets::Long(long)),
        }
    }

    /// Returns the number of starts.
    pub(crate) fn len(&self) -> usize {
        match self {
            Offsets::Short(starts) => starts.len(),
            Offsets::Long(starts) => starts.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        match self {
            Offsets::Short(starts) => starts[row].into(),
            Offsets::Long(starts) => starts[row],
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, start: u64) {
        match self {
            // There are no more entries than the caller has announced.
            Offsets::Short(starts) => starts[row] = start as u32,
            Offsets::Long(starts) => starts[row] = start,
        }
    }

    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.get(row) as usize..self.get(row + 1) as usize
    }

    /// Turns the length of each row into its end; returns the end of the last one. Filling a row backwards from its
    /// end, moving it each time, leaves it at the start.
    pub(crate) fn add_up(&mut self) -> u64 {
        let mut total = 0;
        for row in 0..self.len() {
            total += self.get(row);
            self.set(row, total);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_take_half_the_memory_where_they_can() {
        let memory = Memory::unlimited();
        let most = u64::from(u32::MAX);
        for last in [7, most, most + 1, 1 << 40] {
            let mut starts = Offsets::table(3, 1 << 40, &memory).expect("memory");
            starts.set(1, 5);
            starts.set(2, last);
            let starts = starts.narrow(&memory).expect("memory");
            assert_eq!(matches!(starts, Offsets::Short(_)), last <= most);
            assert_eq!([0, 1, 2].map(|row| starts.get(row)), [0, 5, last]);
        }
    }
}
