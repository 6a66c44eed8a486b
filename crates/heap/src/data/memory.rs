//! The location of large tables: in memory, and beyond a limit in temporary files.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::data::mapping::{self, MappedPart};

/// The memory limit for large tables. Clones share it.
#[derive(Clone, Debug)]
pub struct Memory {
    left: Arc<AtomicU64>,
    limited: bool,
    folder: PathBuf,
}

impl Memory {
    /// Uses as much memory as there is.
    #[must_use]
    pub fn unlimited() -> Memory {
        Memory {
            left: Arc::new(AtomicU64::new(u64::MAX)),
            limited: false,
            folder: std::env::temp_dir(),
        }
    }

    /// Uses at most `bytes` bytes; a table that does not fit becomes a mapped file in the folder for temporary files.
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

    /// Creates a table of `length` zeros.
    pub(crate) fn table<T: Pod>(&self, length: usize) -> io::Result<Numbers<T>> {
        let bytes = length as u64 * size_of::<T>() as u64;
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        if taken.is_ok() {
            // An allocation of no bytes at all cannot fail.
            let entries = asking(|| bytemuck::try_zeroed_vec(length)).map_err(|()| {
                self.give_back::<T>(length);
                self.too_little(bytes)
            })?;
            let place = Place::Here(entries);
            let memory = self.clone();
            return Ok(Numbers { place, memory });
        }
        let file = mapping::scratch(&self.folder, bytes.max(1)).map_err(|error| {
            let folder = self.folder.display();
            io::Error::new(
                error.kind(),
                format!("a temporary file of {bytes} bytes in {folder}: {error}"),
            )
        })?;
        Ok(Numbers {
            place: Place::Spilled(file, length, PhantomData),
            memory: self.clone(),
        })
    }
}

thread_local! {
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if this thread is requesting memory that it can do without: an allocator that ends the process on
/// failure must let such a request fail.
#[must_use]
pub fn is_asking() -> bool {
    IS_ASKING.try_with(Cell::get).unwrap_or(false)
}

fn asking<T>(ask: impl FnOnce() -> T) -> T {
    IS_ASKING.set(true);
    let answer = ask();
    IS_ASKING.set(false);
    answer
}

impl Memory {
    /// Creates a table that grows at its end and has no limit except the system's.
    pub(crate) fn growing<T: Pod>(&self) -> Growing<T> {
        Growing {
            entries: Vec::new(),
            wanted: 0,
            memory: self.clone(),
        }
    }

    fn too_little(&self, bytes: u64) -> io::Error {
        let way = match self.limited {
            true => "a smaller --memory puts it into a temporary file",
            false => "--memory 1g puts large tables into temporary files",
        };
        let message = format!("there is no memory for a table of {bytes} bytes; {way}");
        io::Error::new(io::ErrorKind::OutOfMemory, message)
    }
}

/// A table that becomes as long as its contents.
pub(crate) struct Growing<T: Pod> {
    entries: Vec<T>,
    /// The number of bytes that were requested in vain; 0 as long as there was memory.
    wanted: u64,
    memory: Memory,
}

impl<T: Pod> Growing<T> {
    /// Adds entries. If there is no memory, [`Growing::finish`] reports it.
    #[inline]
    pub(crate) fn extend(&mut self, entries: &[T]) {
        let room = self.entries.capacity() - self.entries.len();
        if room >= entries.len() || self.grow(entries.len()) {
            self.entries.extend_from_slice(entries);
        }
    }

    /// Doubles the capacity, or adds at least a little if that is too much; in any case room for so many entries.
    #[cold]
    fn grow(&mut self, least: usize) -> bool {
        let length = self.entries.len();
        let steps = [length, length / 4, length / 16].map(|step| step.max(1 << 10).max(least));
        let grown = self.wanted == 0
            && asking(|| {
                let mut steps = steps.into_iter();
                steps.any(|step| self.entries.try_reserve_exact(step).is_ok())
            });
        if !grown && self.wanted == 0 {
            self.wanted = ((length + steps[2]) * size_of::<T>()) as u64;
        }
        grown
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn finish(mut self) -> io::Result<Numbers<T>> {
        if self.wanted != 0 {
            return Err(self.memory.too_little(self.wanted));
        }
        self.entries.shrink_to_fit();
        self.memory.take::<T>(self.entries.len());
        Ok(Numbers {
            place: Place::Here(self.entries),
            memory: self.memory,
        })
    }
}

/// A table of numbers, used as a slice.
#[derive(Debug)]
pub(crate) struct Numbers<T: Pod> {
    place: Place<T>,
    memory: Memory,
}

#[derive(Debug)]
enum Place<T: Pod> {
    Here(Vec<T>),
    Spilled(MmapMut, usize, PhantomData<T>),
    /// In an index, which is never written to.
    Saved(MappedPart<T>),
}

impl<T: Pod> Numbers<T> {
    /// Returns a table of an index.
    pub(crate) fn mapped(part: MappedPart<T>, memory: &Memory) -> Numbers<T> {
        Numbers {
            place: Place::Saved(part),
            memory: memory.clone(),
        }
    }

    /// Frees everything after the first `length` entries.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.place {
            Place::Here(entries) => {
                let before = entries.len();
                entries.truncate(length);
                entries.shrink_to_fit();
                self.memory.give_back::<T>(before - entries.len());
            }
            Place::Spilled(_, spilled, _) => *spilled = length.min(*spilled),
            // Tables of an index are complete.
            Place::Saved(_) => {}
        }
    }
}

impl Memory {
    /// Takes memory for tables without a limit.
    fn take<T>(&self, entries: usize) {
        let bytes = entries as u64 * size_of::<T>() as u64;
        self.left.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn give_back<T>(&self, entries: usize) {
        let bytes = entries as u64 * size_of::<T>() as u64;
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl<T: Pod> Drop for Numbers<T> {
    fn drop(&mut self) {
        if let Place::Here(entries) = &self.place {
            self.memory.give_back::<T>(entries.len());
        }
    }
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.place {
            Place::Here(entries) => entries,
            Place::Spilled(file, length, _) => {
                bytemuck::cast_slice(&file[..length * size_of::<T>()])
            }
            Place::Saved(part) => part,
        }
    }
}

impl<T: Pod> DerefMut for Numbers<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.place {
            Place::Here(entries) => entries,
            Place::Spilled(file, length, _) => {
                bytemuck::cast_slice_mut(&mut file[..*length * size_of::<T>()])
            }
            Place::Saved(_) => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_to_a_file_and_works_the_same() {
        let memory = Memory::limited(100);
        let mut first: Numbers<u32> = memory.table(20).expect("it fits");
        let mut second: Numbers<u64> = memory.table(20).expect("a temporary file");
        assert!(matches!(first.place, Place::Here(_)));
        assert!(matches!(second.place, Place::Spilled(..)));
        first[19] = 7;
        second[19] = u64::MAX;
        second.truncate(20);
        assert_eq!((first[19], second[19], second[0]), (7, u64::MAX, 0));
    }

    #[test]
    fn what_there_is_no_memory_for_is_an_error() {
        for memory in [Memory::unlimited(), Memory::limited(u64::MAX)] {
            let refused = memory.table::<u64>(1 << 58).map(|_| ());
            let refused = refused.expect_err("no machine has that");
            assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
            let message = refused.to_string();
            assert!(
                message.starts_with("there is no memory for a table of 2305843009213693952 bytes"),
                "{message}"
            );
            assert!(!is_asking());
        }
    }

    #[test]
    fn a_growing_table_has_what_was_put_into_it() {
        let memory = Memory::unlimited();
        let mut growing = memory.growing::<u32>();
        (0..10_000).for_each(|entry| growing.extend(&[entry]));
        growing.extend(&(10_000..100_000).collect::<Vec<u32>>());
        assert_eq!(growing.len(), 100_000);
        let table = growing.finish().expect("there is room");
        assert!(table.iter().copied().eq(0..100_000));
        let none = memory.growing::<u32>().finish().expect("nothing is needed");
        assert!(none.is_empty());
    }

    #[test]
    fn memory_that_is_given_back_is_used_again() {
        let memory = Memory::limited(100);
        let mut first: Numbers<u32> = memory.table(25).expect("it fits");
        first.truncate(5);
        let second: Numbers<u32> = memory.table(20).expect("it fits");
        assert!(matches!(second.place, Place::Here(_)));
        drop((first, second));
        let third: Numbers<u8> = memory.table(100).expect("it fits");
        assert!(matches!(third.place, Place::Here(_)));
    }
}
