//! Where the large tables are: in memory, and beyond a limit in temporary files.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::mapping;

/// How much memory the large tables may take. Clones share one limit.
#[derive(Clone, Debug)]
pub struct Memory {
    left: Arc<AtomicU64>,
    limited: bool,
    folder: PathBuf,
}

impl Memory {
    /// As much as there is.
    #[must_use]
    pub fn unlimited() -> Memory {
        Memory {
            left: Arc::new(AtomicU64::new(u64::MAX)),
            limited: false,
            folder: std::env::temp_dir(),
        }
    }

    /// At most so many bytes; a table that does not fit becomes a mapped file in the folder for temporary files.
    #[must_use]
    pub fn limited(bytes: u64) -> Memory {
        Memory {
            left: Arc::new(AtomicU64::new(bytes)),
            limited: true,
            folder: std::env::temp_dir(),
        }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    /// A table of `length` zeros.
    pub(crate) fn table<T: Pod>(&self, length: usize) -> io::Result<Table<T>> {
        let bytes = length as u64 * size_of::<T>() as u64;
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        if taken.is_ok() {
            let place = Place::Here(vec![T::zeroed(); length]);
            let memory = self.clone();
            return Ok(Table { place, memory });
        }
        let file = mapping::scratch(&self.folder, bytes.max(1)).map_err(|error| {
            let folder = self.folder.display();
            io::Error::new(
                error.kind(),
                format!("a temporary file of {bytes} bytes in {folder}: {error}"),
            )
        })?;
        Ok(Table {
            place: Place::Spilled(file, length, PhantomData),
            memory: self.clone(),
        })
    }
}

/// A table of numbers, used as a slice.
#[derive(Debug)]
pub(crate) struct Table<T: Pod> {
    place: Place<T>,
    memory: Memory,
}

#[derive(Debug)]
enum Place<T> {
    Here(Vec<T>),
    Spilled(MmapMut, usize, PhantomData<T>),
}

impl<T: Pod> Table<T> {
    /// Gives back what is behind the first `length` entries.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.place {
            Place::Here(entries) => {
                let before = entries.len();
                entries.truncate(length);
                entries.shrink_to_fit();
                self.memory.give_back::<T>(before - entries.len());
            }
            Place::Spilled(_, spilled, _) => *spilled = length.min(*spilled),
        }
    }
}

/// Where rows of different lengths start in one table, all of them behind each other.
#[derive(Debug)]
pub(crate) enum Offsets {
    Short(Table<u32>),
    Long(Table<u64>),
}

impl Offsets {
    /// So many rows, all empty, with no more than `most` entries together.
    pub(crate) fn new(rows: usize, most: u64, memory: &Memory) -> io::Result<Offsets> {
        Ok(if most <= u32::MAX.into() {
            Offsets::Short(memory.table(rows + 1)?)
        } else {
            Offsets::Long(memory.table(rows + 1)?)
        })
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
            // There are no more entries than the caller has said.
            Offsets::Short(starts) => starts[row] = start as u32,
            Offsets::Long(starts) => starts[row] = start,
        }
    }

    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.get(row) as usize..self.get(row + 1) as usize
    }

    /// Turns the length of each row into where it ends; returns where the last one does. To fill a row from its end
    /// backwards, moving it each time, leaves it where it starts.
    pub(crate) fn add_up(&mut self) -> u64 {
        let rows = match self {
            Offsets::Short(starts) => starts.len(),
            Offsets::Long(starts) => starts.len(),
        };
        let mut total = 0;
        for row in 0..rows {
            total += self.get(row);
            self.set(row, total);
        }
        total
    }
}

impl Memory {
    fn give_back<T>(&self, entries: usize) {
        let bytes = entries as u64 * size_of::<T>() as u64;
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl<T: Pod> Drop for Table<T> {
    fn drop(&mut self) {
        if let Place::Here(entries) = &self.place {
            self.memory.give_back::<T>(entries.len());
        }
    }
}

impl<T: Pod> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.place {
            Place::Here(entries) => entries,
            Place::Spilled(file, length, _) => {
                bytemuck::cast_slice(&file[..length * size_of::<T>()])
            }
        }
    }
}

impl<T: Pod> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.place {
            Place::Here(entries) => entries,
            Place::Spilled(file, length, _) => {
                bytemuck::cast_slice_mut(&mut file[..*length * size_of::<T>()])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_to_a_file_and_works_the_same() {
        let memory = Memory::limited(100);
        let mut first: Table<u32> = memory.table(20).expect("it fits");
        let mut second: Table<u64> = memory.table(20).expect("a temporary file");
        assert!(matches!(first.place, Place::Here(_)));
        assert!(matches!(second.place, Place::Spilled(..)));
        first[19] = 7;
        second[19] = u64::MAX;
        second.truncate(20);
        assert_eq!((first[19], second[19], second[0]), (7, u64::MAX, 0));
    }

    #[test]
    fn memory_that_is_given_back_is_used_again() {
        let memory = Memory::limited(100);
        let mut first: Table<u32> = memory.table(25).expect("it fits");
        first.truncate(5);
        let second: Table<u32> = memory.table(20).expect("it fits");
        assert!(matches!(second.place, Place::Here(_)));
        drop((first, second));
        let third: Table<u8> = memory.table(100).expect("it fits");
        assert!(matches!(third.place, Place::Here(_)));
    }
}
