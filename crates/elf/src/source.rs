//! Files of the format ELF, read piece by piece.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::ElfFile;

/// Bytes that are read piece by piece.
pub(super) trait Bytes: Read + Seek {}

impl<T: Read + Seek> Bytes for T {}

pub(super) type Elf<'data> =
    ElfFile<'data, FileHeader64<LittleEndian>, &'data ReadCache<Box<dyn Bytes>>>;

/// Where the bytes of a library are.
#[derive(Clone)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The memory of this process from one address to another: the kernel's own code.
    Memory(usize, usize),
    /// Nothing, or another file by now.
    Gone,
}

impl Source {
    /// Calls the function with the library, if it can be read.
    pub(super) fn with_elf<T>(&self, body: impl FnOnce(&Elf<'_>) -> T) -> Option<T> {
        let bytes: Box<dyn Bytes> = match self {
            Self::File(path) => {
                // A pipe is not waited for, and like a device would not end.
                let mut options = OpenOptions::new();
                options.read(true).custom_flags(libc::O_NONBLOCK);
                let file = options.open(path).ok()?;
                if !file.metadata().ok()?.is_file() {
                    return None;
                }
                Box::new(file)
            }
            Self::Memory(begin, end) => Box::new(Cursor::new(own_memory(*begin, *end).ok()?)),
            Self::Gone => return None,
        };
        let cache = ReadCache::new(bytes);
        Some(body(&Elf::parse(&cache).ok()?))
    }
}

/// Reads memory of this process by way of the kernel, which fails where there is none.
fn own_memory(begin: usize, end: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut memory = File::open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(begin as u64))?;
    memory
        .take(end.saturating_sub(begin) as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    fn is_read(path: PathBuf) -> bool {
        Source::File(path).with_elf(|_| ()).is_some()
    }

    #[test]
    fn only_a_regular_file_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = env::current_exe().expect("this test");
        assert!(is_read(library.clone()));
        let place = folder.path().join("library.so");
        std::os::unix::fs::symlink(library, &place).expect("a link");
        assert!(is_read(place.clone()));
        fs::remove_file(&place).expect("it is ours");
        mkfifoat(CWD, &place, Mode::RUSR | Mode::WUSR).expect("a pipe");
        assert!(!is_read(place), "a pipe that nobody writes to");
        assert!(!is_read("/dev/zero".into()), "it does not end");
        assert!(!is_read(folder.path().into()));
    }
}
