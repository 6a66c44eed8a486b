//! Pages of memory, and those of the process that are in RAM.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

use hprof_footprint::{Contents, Resident};

/// Bits of an entry of `/proc/self/pagemap`, and its bytes. The kernel's pages of zeros, which are in the place of memory that
/// was only read and are no part of the resident set, are neither of a file nor exclusive; nor are written pages that a forked
/// process shares.
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

    /// Returns what [`hprof_footprint::Memory`] asks for.
    pub(crate) fn resident(&self, range: Range<usize>, contents: Contents) -> Resident {
        let (first, last) = (range.start / self.page, range.end.div_ceil(self.page));
        let mut sum = Resident::default();
        for begin in (first..last).step_by(PAGES) {
            let pages = begin..last.min(begin + PAGES);
            let Resident { certain, doubtful } = match contents {
                Contents::Written => self.in_core(pages),
                Contents::File | Contents::Unknown => self.mapped(pages, contents),
            };
            sum.certain += certain * self.page as u64;
            sum.doubtful += doubtful * self.page as u64;
        }
        sum
    }

    /// Returns the bytes of the resident set; `None` if the system does not give it.
    pub(crate) fn all_resident(&self) -> Option<u64> {
        let statm = fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * self.page as u64)
    }
}

impl Pages {
    /// Counts the pages that are in RAM, of private memory without a file that was written before it was read. A tenth as expensive
    /// as [`Self::mapped`], which does without these conditions.
    fn in_core(&self, pages: Range<usize>) -> Resident {
        let mut answer = [0_u8; PAGES];
        let begin = std::ptr::without_provenance_mut(pages.start * self.page);
        // SAFETY: the kernel writes a byte for each page, of which there are no more than `PAGES`; it does not touch the pages,
        // and answers with an error if one is not mapped.
        let status = unsafe { libc::mincore(begin, pages.len() * self.page, answer.as_mut_ptr()) };
        if status != 0 {
            return Resident::default();
        }
        let in_core = answer[..pages.len()].iter().filter(|&&byte| byte & 1 != 0);
        Resident {
            certain: in_core.count() as u64,
            doubtful: 0,
        }
    }

    /// Counts the pages that are mapped to memory.
    fn mapped(&self, pages: Range<usize>, contents: Contents) -> Resident {
        let mut count = Resident::default();
        let Some(file) = &self.file else {
            return count;
        };
        let mut entries = [0_u8; PAGES * ENTRY];
        let wanted = &mut entries[..pages.len() * ENTRY];
        let read = file
            .read_at(wanted, (pages.start * ENTRY) as u64)
            .unwrap_or(0);
        let (whole, _) = wanted[..read].as_chunks::<ENTRY>();
        for entry in whole.iter().map(|entry| u64::from_ne_bytes(*entry)) {
            let is_present = entry & IS_PRESENT != 0;
            // In a mapping of a file, no page of zeros is in the place of one that was read.
            let is_certain = contents == Contents::File || entry & (IS_OF_FILE | IS_EXCLUSIVE) != 0;
            count.certain += u64::from(is_present && is_certain);
            count.doubtful += u64::from(is_present && !is_certain);
        }
        count
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
        let count = |pages, contents| {
            let range = begin..begin + pages * memory.page;
            let Resident { certain, doubtful } = memory.resident(range, contents);
            let page = memory.page as u64;
            (certain / page, doubtful / page)
        };
        for contents in [Contents::Written, Contents::File, Contents::Unknown] {
            assert_eq!(count(64, contents), (3, 0));
            assert_eq!(count(5, contents), (1, 0));
        }
        let child = forked();
        assert_eq!(count(64, Contents::Written), (3, 0));
        assert_eq!(count(64, Contents::File), (3, 0));
        assert_eq!(count(64, Contents::Unknown), (0, 3));
        end(child);
        assert_eq!(count(64, Contents::Unknown), (3, 0));
        // SAFETY: nothing refers to the mapping.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(begin), length) };
        assert_eq!(count(64, Contents::Written), (0, 0));
    }

    /// Makes a process that shares the memory of this one.
    fn forked() -> libc::pid_t {
        // SAFETY: the child calls nothing but `pause`, which any thread of a forked process may.
        unsafe {
            let child = libc::fork();
            assert_ne!(child, -1);
            if child == 0 {
                loop {
                    libc::pause();
                }
            }
            child
        }
    }

    fn end(child: libc::pid_t) {
        // SAFETY: both take numbers; nothing is to be written for a null pointer.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            assert_eq!(libc::waitpid(child, ptr::null_mut(), 0), child);
        }
    }

    #[test]
    fn the_resident_set_is_known() {
        let bytes = Pages::new().all_resident().expect("Linux");
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
