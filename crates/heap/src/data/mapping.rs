//! Mapped files: the dump, and tables that do not fit into memory. The only unsafe code of this crate.
//!
//! What a file loses while it is mapped reads as zeros, and from then on [`Mapped::is_whole`] reports that the bytes are not
//! the file's.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use hprof_os::files::{self, FileState};
use hprof_os::mapping::Mapping;

/// The number of bytes that distinguish one HPROF file from another, because they include the first record's time.
const HEAD: usize = 64;

/// A file that is mapped for reading.
#[derive(Debug)]
pub(crate) struct Mapped {
    bytes: Mapping,
    file: File,
    /// The state of the file when it was mapped.
    state: FileState,
    head: Vec<u8>,
}

impl Mapped {
    /// Maps a file.
    pub(crate) fn of(file: &File) -> io::Result<Mapped> {
        let file = file.try_clone()?;
        Ok(Mapped {
            state: files::state(&file)?,
            head: head_of(&file)?,
            bytes: Mapping::of(&file)?,
            file,
        })
    }

    /// Returns the state of the file when it was mapped.
    pub(crate) fn state(&self) -> &FileState {
        &self.state
    }

    /// Returns `true` if nobody has written to the file since it was mapped, or changed anything else about it.
    pub(crate) fn is_untouched(&self) -> bool {
        files::state(&self.file).is_ok_and(|found| found == self.state)
    }

    /// Announces that pages will be read here and there, so that those between need not be read.
    pub(crate) fn expect_single_pages(&self) {
        self.bytes.expect_single_pages();
    }

    /// Gives the memory of pages back that have been read. They are mapped again when they are needed.
    pub(crate) fn release(&self) {
        self.bytes.release(0..self.bytes.len());
    }

    /// Returns a range of the file as numbers; `None` if it is not within the file, or not whole numbers at a place
    /// where such numbers can be.
    pub(crate) fn part<T: Pod>(file: &Arc<Mapped>, range: Range<usize>) -> Option<MappedPart<T>> {
        let entries: &[T] = bytemuck::try_cast_slice(file.get(range.clone())?).ok()?;
        Some(MappedPart {
            entries: NonNull::from(entries),
            start: range.start,
            file: Arc::clone(file),
        })
    }

    /// Returns `true` if everything read so far was the file's content: it has been neither truncated nor overwritten.
    pub(crate) fn is_whole(&self) -> bool {
        let length = self.file.metadata().map(|found| found.len());
        !self.bytes.has_lost()
            && length.is_ok_and(|length| length >= self.bytes.len() as u64)
            && head_of(&self.file).is_ok_and(|head| head == self.head)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Numbers in a mapped file, which stays mapped as long as they are used.
#[derive(Debug)]
pub(crate) struct MappedPart<T: Pod> {
    entries: NonNull<[T]>,
    /// The place of the first one in the file, in bytes.
    start: usize,
    file: Arc<Mapped>,
}

impl<T: Pod> MappedPart<T> {
    /// Gives the memory of numbers back that have been read, as [`Mapped::release`] does.
    pub(crate) fn release(&self, range: Range<usize>) {
        let place = |index: usize| self.start + index.min(self.len()) * size_of::<T>();
        self.file
            .bytes
            .release(place(range.start)..place(range.end));
    }
}

// SAFETY: it gives out nothing but shared references to numbers in memory that no code of this process writes to, like
// the slice of a `Mapped`, which may be sent and shared.
unsafe impl<T: Pod> Send for MappedPart<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for MappedPart<T> {}

impl<T: Pod> Deref for MappedPart<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the pointer is that of a slice within the bytes of `file`, which was checked to be aligned and is
        // valid as numbers whatever is in it. The mapping does not move and lasts at least as long as this value, which
        // is longer than the reference.
        unsafe { self.entries.as_ref() }
    }
}

/// Reads the beginning of the file.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let filled = files::fill_at(file, &mut head, 0)?;
    head.truncate(filled);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(content).expect("there is room");
        file
    }

    // Elsewhere nobody can truncate a file that is mapped.
    #[cfg(unix)]
    #[test]
    fn what_a_file_has_lost_is_zero_and_the_mapping_says_so() {
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251 + 1) as u8).collect();
        let (cut, other) = (file(&content), file(&content));
        let (mapped, untouched) = (
            Mapped::of(&cut).expect("a mapping"),
            Mapped::of(&other).expect("a mapping"),
        );
        assert!(mapped.is_whole());
        cut.set_len(10).expect("it is ours");
        // Other threads read at the same time.
        let sums = std::thread::scope(|scope| {
            let all = [0, 4096, 50_000, 99_999].map(|from| {
                let mapped = &mapped;
                scope.spawn(move || {
                    mapped[from..]
                        .iter()
                        .map(|&byte| u64::from(byte))
                        .sum::<u64>()
                })
            });
            all.map(|sum| sum.join().expect("no panic"))
        });
        let kept: u64 = content[..10].iter().map(|&byte| u64::from(byte)).sum();
        assert_eq!(sums, [kept, 0, 0, 0]);
        assert!(!mapped.is_whole());
        assert!(untouched.is_whole());
        // It grows again, which does not restore its content.
        cut.set_len(100_000).expect("it is ours");
        assert!(!mapped.is_whole());
        assert_eq!(mapped[50_000], 0);
    }

    #[test]
    fn a_file_that_is_written_anew_is_another() {
        let mut changed = file(&[7; 10_000]);
        let mapped = Mapped::of(&changed).expect("a mapping");
        changed.write_all(b"more").expect("there is room");
        assert!(mapped.is_whole(), "what is appended changes nothing");
        files::write_all_at(&changed, b"other", 0).expect("it is ours");
        assert!(!mapped.is_whole());
    }

    #[test]
    fn an_empty_file_is_an_error_or_nothing() {
        let mapped = Mapped::of(&file(b""));
        assert!(mapped.is_ok_and(|mapped| mapped.is_empty() && mapped.is_whole()));
    }
}
