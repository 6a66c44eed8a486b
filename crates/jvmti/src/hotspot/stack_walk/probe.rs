//! Reads memory that may not be there, in signal handlers, too: a wrong guess about the stack is an answer and not a
//! fault. What is read so may be anything.
//!
//! Where the agent's handler of faults is in front, the memory is just read (`fault_guard`). Elsewhere the kernel is asked
//! first whether a page can be read. It may still go away before it is read; then the handler helps if the one in front
//! passes the fault on, and nothing does otherwise.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::fault_guard;
use super::layout::WORD;

/// The smallest pages of the processors that are supported.
const PAGE: usize = 4096;
/// The pages that a walk remembers.
const REMEMBERED: usize = 16;
/// The most questions to the kernel, and faults, of a walk: each takes up to some microseconds.
const MOST_TRIALS: u32 = 400;

/// Set if the kernel answers as expected.
static KERNEL_ANSWERS: AtomicBool = AtomicBool::new(true);

/// Reads memory in one walk.
pub(super) struct MemoryReader {
    means: Cell<Means>,
    /// Pages that the kernel has read, by their numbers.
    pages: [Cell<usize>; REMEMBERED],
    /// The trials that are left.
    trials: Cell<u32>,
}

/// How it is found out whether memory can be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    Undecided,
    /// By reading it.
    Fault,
    /// By asking the kernel.
    Kernel,
}

impl MemoryReader {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            means: Cell::new(Means::Undecided),
            pages: [const { Cell::new(0) }; REMEMBERED],
            trials: Cell::new(MOST_TRIALS),
        }
    }

    /// Returns `true` if nothing more is tried.
    #[inline(always)]
    pub(super) fn is_exhausted(&self) -> bool {
        self.trials.get() == 0
    }

    /// Returns the word at an address; `None` if it cannot be read, or is at no word's address. `is_kept` says that the
    /// memory is there and stays.
    #[inline(always)]
    pub(super) fn word_at(&self, address: usize, is_kept: bool) -> Option<usize> {
        if !address.is_multiple_of(WORD) {
            return None;
        }
        self.unaligned_word_at(address, is_kept)
    }

    /// As `word_at`, at any address; the word may be on two pages.
    #[unsafe(link_section = "hprof_handler")]
    #[inline(never)]
    pub(super) fn unaligned_word_at(&self, address: usize, is_kept: bool) -> Option<usize> {
        if !is_kept && !self.may_read(address) {
            return None;
        }
        // SAFETY: the caller promises it, or `may_read` does.
        let word = unsafe { fault_guard::load(address) };
        if word.is_none() {
            self.spend();
        }
        word
    }

    /// Returns the number of 16 bits at an address, which is a multiple of two.
    #[inline(always)]
    pub(super) fn short_at(&self, address: usize, is_kept: bool) -> Option<u16> {
        let at = address & (WORD - 1);
        let word = self.word_at(address.wrapping_sub(at), is_kept)?;
        Some((word >> (8 * at)) as u16)
    }

    /// Returns the byte at an address.
    #[inline(always)]
    pub(super) fn byte_at(&self, address: usize, is_kept: bool) -> Option<u8> {
        let at = address & (WORD - 1);
        let word = self.word_at(address.wrapping_sub(at), is_kept)?;
        Some((word >> (8 * at)) as u8)
    }

    /// Returns `true` if a word that may not be there may be tried.
    #[inline(always)]
    fn may_read(&self, address: usize) -> bool {
        if self.is_exhausted() {
            return false;
        }
        if self.means.get() == Means::Undecided {
            self.means.set(match fault_guard::is_in_front() {
                true => Means::Fault,
                false => Means::Kernel,
            });
        }
        let last = address.wrapping_add(WORD - 1);
        self.means.get() == Means::Fault
            || self.has_page(address) && (address / PAGE == last / PAGE || self.has_page(last))
    }

    /// Asks the kernel for a page, once.
    #[inline(always)]
    fn has_page(&self, address: usize) -> bool {
        let page = address / PAGE;
        let Some(known) = self.pages.get(page % REMEMBERED) else {
            return false;
        };
        if page != 0 && known.get() == page {
            return true;
        }
        self.spend();
        let is_there =
            kernel_reads(address & !(WORD - 1)) && KERNEL_ANSWERS.load(Ordering::Relaxed);
        if is_there {
            known.set(page);
        }
        is_there
    }

    #[inline(always)]
    fn spend(&self) {
        self.trials.set(self.trials.get().saturating_sub(1));
    }
}

/// Returns `true` if the word at an address, which is a multiple of a word, can be read. Never faults, whatever signals the
/// thread blocks.
pub(in crate::hotspot) fn can_read(address: usize) -> bool {
    kernel_reads(address) && KERNEL_ANSWERS.load(Ordering::Relaxed)
}

/// Returns `true` if the kernel can read the word at an address, which is a multiple of a word. It reads the new mask of
/// signals before it refuses what to do with it. (It reads none at address 0, and refuses nothing.)
#[inline(always)]
fn kernel_reads(address: usize) -> bool {
    const NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET: libc::c_int = -1;
    // SAFETY: the call changes nothing but `errno`, which the handler restores.
    unsafe {
        let status = libc::syscall(
            libc::SYS_rt_sigprocmask,
            NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET,
            address,
            0_usize,
            WORD,
        );
        status == -1 && *libc::__errno_location() == libc::EINVAL
    }
}

/// Tries both means on memory that is there and on memory that is not; returns `false` if neither can be relied on, as
/// where a filter of system calls or a kernel of another make answers something else.
pub(super) fn is_reliable() -> bool {
    let words = [0x0102_0304_0506_0708_usize];
    let there = (&raw const words[0]).expose_provenance();
    let Some(closed) = ClosedPage::new() else {
        return false;
    };
    let nowhere = [0, closed.0.expose_provenance()];
    let kernel_answers = kernel_reads(there) && !nowhere.into_iter().any(kernel_reads);
    KERNEL_ANSWERS.store(kernel_answers, Ordering::Relaxed);
    if !fault_guard::is_in_front() {
        return kernel_answers;
    }
    // SAFETY: the handler is in front.
    let load = |address| unsafe { fault_guard::load(address) };
    load(there) == Some(words[0]) && nowhere.into_iter().all(|address| load(address).is_none())
}

/// A page that cannot be read.
struct ClosedPage(*mut libc::c_void);

impl ClosedPage {
    fn new() -> Option<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place of the system's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0) };
        (page != libc::MAP_FAILED).then_some(Self(page))
    }
}

impl Drop for ClosedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's alone.
        unsafe { libc::munmap(self.0, PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    /// Reads by each of the means.
    fn by_each(check: impl Fn(&MemoryReader)) {
        fault_guard::install_for_test();
        for means in [Means::Fault, Means::Kernel] {
            let readable = MemoryReader::new();
            readable.means.set(means);
            check(&readable);
        }
    }

    #[test]
    fn missing_memory_is_an_answer() {
        let page = 4096;
        // SAFETY: a mapping of its own, of which the second page cannot be read.
        let begin = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapped = libc::mmap(ptr::null_mut(), 2 * page, protection, flags, -1, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            libc::mprotect(mapped.byte_add(page), page, libc::PROT_NONE);
            mapped.expose_provenance()
        };
        let last = begin + page - WORD;
        let words = [0x0102_0304_0506_0708_usize];
        let there = (&raw const words[0]).expose_provenance();
        by_each(|it| {
            assert_eq!(it.word_at(there, false), Some(words[0]));
            assert_eq!(it.word_at(last, false), Some(0));
            assert_eq!(it.word_at(last + WORD, false), None);
            assert_eq!(it.word_at(last + 1, false), None, "no word's address");
            assert_eq!(
                it.unaligned_word_at(last + 1, false),
                None,
                "half is missing"
            );
            assert_eq!(it.unaligned_word_at(last - 1, false), Some(0));
            assert_eq!(it.word_at(0, false), None, "after a word that was there");
            assert_eq!(it.word_at(8, false), None);
            assert_eq!(it.word_at(0x696d_6f74_612f_7470, false), None, "no address");
            assert_eq!(it.short_at(there + 2, false), Some(0x0506));
            assert_eq!(it.short_at(last + WORD + 2, false), None);
            assert_eq!(it.byte_at(there + 7, false), Some(1));
        });
        // SAFETY: the mapping is the test's own.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(begin), 2 * page) };
    }

    #[test]
    fn the_kernel_is_asked_for_a_page_once_and_not_for_ever() {
        let words = [1_usize; 4];
        let there = (&raw const words[0]).expose_provenance();
        by_each(|it| {
            for _ in 0..1_000 {
                assert_eq!(it.word_at(there, false), Some(1));
            }
            assert!(it.trials.get() >= MOST_TRIALS - 1);
            for _ in 0..MOST_TRIALS {
                assert_eq!(it.word_at(0, false), None);
            }
            assert!(it.is_exhausted());
            assert_eq!(it.word_at(there, false), None, "it has tried enough");
            assert_eq!(it.word_at(there, true), Some(1));
        });
    }

    #[test]
    fn both_means_can_be_relied_on_here() {
        fault_guard::install_for_test();
        assert!(is_reliable());
        assert!(KERNEL_ANSWERS.load(Ordering::Relaxed));
    }
}
