//! The location of large tables: in memory, and beyond a limit in temporary files.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use hprof_os::files::is_in_memory;
use hprof_os::mapping::{self, ScratchFile};
use memmap2::MmapMut;

use crate::data::mapping::MappedPart;

/// The memory limit for large tables. Clones share it.
#[derive(Clone, Debug)]
pub struct Memory {
    left: Arc<AtomicU64>,
    folder: PathBuf,
}

impl Memory {
    /// Uses as much memory as there is.
    #[must_use]
    pub fn unlimited() -> Memory {
        Memory {
            left: Arc::new(AtomicU64::new(u64::MAX)),
            folder: std::env::temp_dir(),
        }
    }

    /// Uses at most `bytes` bytes; a table that does not fit becomes a mapped file in the folder for temporary files.
    #[must_use]
    pub fn limited(bytes: u64) -> Memory {
        Memory {
            left: Arc::new(AtomicU64::new(bytes)),
            folder: folder(),
        }
    }

    /// Creates a table of `length` zeros.
    pub(crate) fn table<T: Pod>(&self, length: usize) -> io::Result<Numbers<T>> {
        let bytes = length as u64 * size_of::<T>() as u64;
        if self.take(bytes) {
            // An allocation of no bytes at all cannot fail.
            let entries = asking(|| bytemuck::try_zeroed_vec(length)).map_err(|()| {
                self.give_back(bytes);
                self.too_little(bytes)
            })?;
            let storage = Storage::InMemory(entries);
            let memory = self.clone();
            return Ok(Numbers { storage, memory });
        }
        let file = mapping::scratch(&self.folder, bytes.max(1));
        let file = file.map_err(|error| self.no_file(bytes, &error))?;
        Ok(Numbers {
            storage: Storage::Spilled(file, length, PhantomData),
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
    /// Creates a table that grows at its end.
    pub(crate) fn growing<T: Pod>(&self) -> Growing<T> {
        Growing {
            entries: Vec::new(),
            file: None,
            length: 0,
            failed: None,
            memory: self.clone(),
        }
    }

    fn too_little(&self, bytes: u64) -> io::Error {
        let message = format!(
            "there is no memory for a table of {bytes} bytes; a smaller --memory puts it into a temporary file"
        );
        io::Error::new(io::ErrorKind::OutOfMemory, message)
    }

    fn no_file(&self, bytes: u64, error: &io::Error) -> io::Error {
        let folder = self.folder.display();
        let message = format!("a temporary file of {bytes} bytes in {folder}: {error}");
        io::Error::new(error.kind(), message)
    }
}

/// Returns the folder for temporary files, unless it is in memory and nobody has named it: then one that is on a disk.
fn folder() -> PathBuf {
    const ON_DISK: &str = "/var/tmp";
    let usual = std::env::temp_dir();
    let disk = PathBuf::from(ON_DISK);
    let is_better = std::env::var_os("TMPDIR").is_none()
        && is_in_memory(&usual)
        && !is_in_memory(&disk)
        && tempfile::tempfile_in(&disk).is_ok();
    if is_better { disk } else { usual }
}

/// The most bytes of a growing table that stay in memory when the rest is in a file.
const BUFFER: usize = 1 << 20;

/// A table that becomes as long as its contents. Beyond the limit, it becomes a file.
pub(crate) struct Growing<T: Pod> {
    /// The entries, or those at the end that are not in the file.
    entries: Vec<T>,
    file: Option<ScratchFile>,
    /// The number of entries in the file.
    length: usize,
    /// The reason that entries are missing.
    failed: Option<io::Error>,
    memory: Memory,
}

impl<T: Pod> Growing<T> {
    /// Adds entries. If there is neither memory nor a file for them, [`Growing::finish`] reports it.
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
        if self.failed.is_some() {
            return false;
        }
        let length = self.entries.len();
        let steps = [length, length / 4, length / 16].map(|step| step.max(1 << 10).max(least));
        let grown = self.file.is_none() && steps.into_iter().any(|step| self.reserve(step));
        if grown {
            return true;
        }
        if let Err(error) = self.spill() {
            let bytes = (self.length + length + least) * size_of::<T>();
            self.failed = Some(self.memory.no_file(bytes as u64, &error));
            return false;
        }
        // A few entries always have room: what does not is reported as such.
        let wanted = least.max(BUFFER / size_of::<T>());
        let grown = asking(|| self.entries.try_reserve_exact(wanted).is_ok());
        if !grown {
            let bytes = (wanted * size_of::<T>()) as u64;
            self.failed = Some(self.memory.too_little(bytes));
        }
        grown
    }

    /// Takes memory for more entries; returns `false` if there is none.
    fn reserve(&mut self, step: usize) -> bool {
        let before = self.entries.capacity();
        let bytes = ((self.entries.len() + step).saturating_sub(before) * size_of::<T>()) as u64;
        if !self.memory.take(bytes) {
            return false;
        }
        let reserved = asking(|| self.entries.try_reserve_exact(step).is_ok());
        if !reserved {
            self.memory.give_back(bytes);
        }
        reserved
    }

    /// Moves the entries to the file.
    fn spill(&mut self) -> io::Result<()> {
        let is_first = self.file.is_none();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::new(&self.memory.folder)?),
        };
        file.append(bytemuck::cast_slice(&self.entries))?;
        self.length += self.entries.len();
        self.entries.clear();
        if is_first {
            // What was taken is used by other tables.
            let bytes = self.entries.capacity() * size_of::<T>();
            self.memory.give_back(bytes as u64);
            self.entries = Vec::new();
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.length + self.entries.len()
    }

    pub(crate) fn finish(mut self) -> io::Result<Numbers<T>> {
        if self.file.is_some() && self.failed.is_none() {
            let spilled = self.spill();
            let bytes = self.length * size_of::<T>();
            self.failed = spilled
                .err()
                .map(|error| self.memory.no_file(bytes as u64, &error));
        }
        if let Some(error) = self.failed {
            return Err(error);
        }
        let memory = self.memory;
        let storage = match self.file {
            Some(file) => Storage::Spilled(file.map()?, self.length, PhantomData),
            None => {
                let unused = self.entries.capacity() - self.entries.len();
                self.entries.shrink_to_fit();
                memory.give_back((unused * size_of::<T>()) as u64);
                Storage::InMemory(self.entries)
            }
        };
        Ok(Numbers { storage, memory })
    }
}

/// A table of numbers, used as a slice.
#[derive(Debug)]
pub(crate) struct Numbers<T: Pod> {
    storage: Storage<T>,
    memory: Memory,
}

#[derive(Debug)]
enum Storage<T: Pod> {
    InMemory(Vec<T>),
    Spilled(MmapMut, usize, PhantomData<T>),
    /// In an index, which is never written to.
    Saved(MappedPart<T>),
}

impl<T: Pod> Numbers<T> {
    /// Returns a table of an index.
    pub(crate) fn mapped(part: MappedPart<T>, memory: &Memory) -> Numbers<T> {
        Numbers {
            storage: Storage::Saved(part),
            memory: memory.clone(),
        }
    }

    /// Gives back the memory of entries that have been read and are in an index, until they are read again.
    pub(crate) fn release(&self, range: Range<usize>) {
        if let Storage::Saved(part) = &self.storage {
            part.release(range);
        }
    }

    /// Frees everything after the first `length` entries.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.storage {
            Storage::InMemory(entries) => {
                let before = entries.len();
                entries.truncate(length);
                entries.shrink_to_fit();
                let freed = (before - entries.len()) * size_of::<T>();
                self.memory.give_back(freed as u64);
            }
            Storage::Spilled(_, spilled, _) => *spilled = length.min(*spilled),
            // Tables of an index are complete.
            Storage::Saved(_) => {}
        }
    }
}

impl Memory {
    /// Takes memory; returns `false` if so much is not left.
    fn take(&self, bytes: u64) -> bool {
        let left = &self.left;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes)
        });
        taken.is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl<T: Pod> Drop for Numbers<T> {
    fn drop(&mut self) {
        if let Storage::InMemory(entries) = &self.storage {
            let bytes = entries.len() * size_of::<T>();
            self.memory.give_back(bytes as u64);
        }
    }
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.storage {
            Storage::InMemory(entries) => entries,
            Storage::Spilled(file, length, _) => {
                bytemuck::cast_slice(&file[..length * size_of::<T>()])
            }
            Storage::Saved(part) => part,
        }
    }
}

impl<T: Pod> DerefMut for Numbers<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            Storage::InMemory(entries) => entries,
            Storage::Spilled(file, length, _) => {
                bytemuck::cast_slice_mut(&mut file[..*length * size_of::<T>()])
            }
            Storage::Saved(_) => &mut [],
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
        assert!(matches!(first.storage, Storage::InMemory(_)));
        assert!(matches!(second.storage, Storage::Spilled(..)));
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
    fn a_growing_table_beyond_the_limit_is_in_a_file() {
        for most in [0, 10_000, 3_000_000, u64::MAX] {
            let memory = Memory::limited(most);
            let mut growing = memory.growing::<u64>();
            for start in (0..1_000_000).step_by(100) {
                growing.extend(&(start..start + 100).collect::<Vec<u64>>());
            }
            assert_eq!(growing.len(), 1_000_000);
            let table = growing.finish().expect("there is room");
            assert!(table.iter().copied().eq(0..1_000_000));
            assert_eq!(
                matches!(table.storage, Storage::InMemory(_)),
                most == u64::MAX
            );
            drop(table);
            assert_eq!(memory.left.load(Ordering::Relaxed), most);
        }
    }

    #[test]
    fn memory_that_is_given_back_is_used_again() {
        let memory = Memory::limited(100);
        let mut first: Numbers<u32> = memory.table(25).expect("it fits");
        first.truncate(5);
        let second: Numbers<u32> = memory.table(20).expect("it fits");
        assert!(matches!(second.storage, Storage::InMemory(_)));
        drop((first, second));
        let third: Numbers<u8> = memory.table(100).expect("it fits");
        assert!(matches!(third.storage, Storage::InMemory(_)));
    }
}
