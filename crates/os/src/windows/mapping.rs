//! Mapped files.
//!
//! The system refuses to truncate a file that is mapped, so a mapping keeps what it had; only a file of another machine, whose
//! connection breaks, ends the process when it is read.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::{Mmap, MmapMut};

/// The bytes of a file, which is mapped for reading.
#[derive(Debug)]
pub struct Mapping {
    bytes: Mmap,
}

impl Mapping {
    /// Maps a file.
    ///
    /// # Errors
    /// Those of `MapViewOfFile`.
    pub fn of(file: &File) -> io::Result<Mapping> {
        // SAFETY: the bytes are only ever read as `u8`, or as numbers for which every value is valid, and whoever reads them
        // lets no decision about memory depend on reading a byte twice: each length is checked against the slice it indexes
        // at the place of use. So a file that is written to concurrently gives wrong numbers or an error, but no access
        // outside the mapping. Nobody can truncate it meanwhile.
        let bytes = unsafe { Mmap::map(file)? };
        Ok(Mapping { bytes })
    }

    /// Announces that pages will be read here and there. The system is not interested.
    pub fn expect_single_pages(&self) {}

    /// Would give back the memory of pages that have been read. Windows reclaims it without being asked.
    pub fn release(&self, _: Range<usize>) {}

    /// Returns `true` if a part that was read was no longer in the file.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        false
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Maps a new temporary file of `length` bytes, all zero, which disappears with the mapping.
///
/// # Errors
/// If the disk has no room for it.
pub fn scratch(folder: &Path, length: u64) -> io::Result<MmapMut> {
    let file = ScratchFile::new(folder)?;
    super::files::reserve(&file.0, length)?;
    file.map()
}

/// A temporary file that is written first, and mapped when it is complete.
#[derive(Debug)]
pub struct ScratchFile(File);

impl ScratchFile {
    /// Creates one.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn new(folder: &Path) -> io::Result<ScratchFile> {
        tempfile::tempfile_in(folder).map(ScratchFile)
    }

    /// Adds bytes at its end.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Maps it.
    ///
    /// # Errors
    /// Those of `MapViewOfFile`.
    pub fn map(self) -> io::Result<MmapMut> {
        // SAFETY: the file was created here so that nobody else can open it while this handle or the mapping is open, and the
        // handle is dropped when this function returns: nothing but this mapping can change it.
        unsafe { MmapMut::map_mut(&self.0) }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

    use super::*;

    #[test]
    fn nobody_can_truncate_what_is_mapped() {
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(&[7; 100_000]).expect("there is room");
        let mapping = Mapping::of(file.as_file()).expect("a mapping");
        assert!(file.as_file().set_len(10).is_err());
        let other = File::options().write(true).open(file.path());
        let truncated = other.and_then(|other| other.set_len(10));
        assert!(truncated.is_err());
        assert_eq!(mapping[99_999], 7);
        drop(mapping);
        file.as_file().set_len(10).expect("nothing maps it");
    }
}
