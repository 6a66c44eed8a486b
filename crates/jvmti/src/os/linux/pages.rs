//! Pages of memory, and those of the process that are in RAM.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

/// Bits of an entry of `/proc/self/pagemap`, and its bytes. The kernel's pages of zeros, which are in the place of memory that
/// was only read and are no part of the resident set, are neither of a file nor exclusive.
const IS_PRESENT: u64 = 1 << 63;
const IS_OF_FILE: u64 = 1 << 61;
const IS_EXCLUSIVE: u64 = 1 << 56;
const ENTRY: usize = size_of::<u64>();
/// The pages that are requested at once: the kernel holds a lock of the process meanwhile, for which threads that map memory wait.
const PAGES: usize = 2048;

/// Maps pages of zeros, which take up RAM once they are used; `None` if the system refuses.
pub(crate) fn map_pages(size: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new private mapping at an address of the system's choice.
    let pages = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
    (pages != libc::MAP_FAILED).then_some(NonNull::new(pages.cast())?)
}

/// Tells which pages are in RAM.
pub(crate) struct Pages {
    file: Option<File>,
    page: usize,
}

impl Pages {
    pub(crate) fn new() -> Self {
        Self {
            file: File::open("/proc/self/pagemap").ok(),
            // SAFETY: takes a number and returns one.
            page: usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096),
        }
    }

    /// Returns the bytes of pages in a range that are in RAM, as [`hprof_footprint::Memory`] asks for them.
    pub(crate) fn resident(&self, range: Range<usize>, is_written: bool) -> u64 {
        let (first, last) = (range.start / self.page, range.end.div_ceil(self.page));
        let mut present = 0;
        for begin in (first..last).step_by(PAGES) {
            let pages = begin..last.min(begin + PAGES);
            present += match is_written {
                true => self.in_core(pages),
                false => self.mapped(pages),
            };
        }
        (present * self.page) as u64
    }
}

impl Pages {
    /// Returns how many of these pages are in RAM, of private memory without a file that was written before it was read. A tenth
    /// as expensive as [`Self::mapped`], which does without these conditions.
    fn in_core(&self, pages: Range<usize>) -> usize {
        let mut answer = [0_u8; PAGES];
        let begin = std::ptr::without_provenance_mut(pages.start * self.page);
        // SAFETY: the kernel writes a byte for each page, of which there are no more than `PAGES`; it does not touch the pages,
        // and answers with an error if one is not mapped.
        let status = unsafe { libc::mincore(begin, pages.len() * self.page, answer.as_mut_ptr()) };
        match status {
            0 => answer[..pages.len()]
                .iter()
                .filter(|&&byte| byte & 1 != 0)
                .count(),
            _ => 0,
        }
    }

    /// Returns how many of these pages are mapped to memory.
    fn mapped(&self, pages: Range<usize>) -> usize {
        let Some(file) = &self.file else {
            return 0;
        };
        let mut entries = [0_u8; PAGES * ENTRY];
        let wanted = &mut entries[..pages.len() * ENTRY];
        let read = file
            .read_at(wanted, (pages.start * ENTRY) as u64)
            .unwrap_or(0);
        let (whole, _) = wanted[..read].as_chunks::<ENTRY>();
        let is_resident = |entry: &&[u8; ENTRY]| {
            let entry = u64::from_ne_bytes(**entry);
            entry & IS_PRESENT != 0 && entry & (IS_OF_FILE | IS_EXCLUSIVE) != 0
        };
        whole.iter().filter(is_resident).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_touched_are_resident() {
        let memory = Pages::new();
        let length = 64 * memory.page;
        // SAFETY: a mapping of its own, which nothing else refers to.
        let begin = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapped = libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            libc::madvise(mapped, length, libc::MADV_NOHUGEPAGE);
            for page in [1, 5, 63] {
                mapped
                    .cast::<u8>()
                    .add(page * memory.page)
                    .write_volatile(1);
            }
            mapped.expose_provenance()
        };
        let page = memory.page as u64;
        for is_written in [true, false] {
            let resident = |pages| memory.resident(begin..begin + pages * memory.page, is_written);
            assert_eq!(resident(64), 3 * page);
            assert_eq!(resident(5), page);
        }
        // SAFETY: nothing refers to the mapping.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(begin), length) };
        assert_eq!(memory.resident(begin..begin + length, true), 0);
    }
}
