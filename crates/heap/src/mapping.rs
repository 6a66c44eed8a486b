//! Files in memory: the dump, and what does not fit beside it. The only unsafe code of this crate.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapMut};

/// Maps a file to be read.
///
/// A file that somebody cuts while it is read ends the process with SIGBUS, as with every program that maps files.
pub(crate) fn read_only(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes are only ever read as `u8`, for which every value is valid, and no decision about memory rests on
    // reading a byte twice: each length is checked against the slice it indexes at the place of use. So a file that is
    // written to meanwhile gives wrong numbers or an error, and no access outside the mapping.
    unsafe { Mmap::map(file) }
}

/// Maps a new temporary file of `length` bytes, all zero, which has no name and goes with the mapping.
///
/// Its blocks are reserved first: a full disk is an error here, and no signal later.
pub(crate) fn scratch(folder: &Path, length: u64) -> io::Result<MmapMut> {
    let file = tempfile::tempfile_in(folder)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length)?;
    // SAFETY: the file was created here with access for its owner alone and has no name, so nobody else can open it, and
    // the only handle is dropped when this function returns: nothing but this mapping can change or cut it.
    unsafe { MmapMut::map_mut(&file) }
}
