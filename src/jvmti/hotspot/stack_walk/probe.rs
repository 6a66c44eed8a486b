//! Reads memory that may not be there, in signal handlers, too.
//!
//! The kernel is asked whether a word can be read, right before it is read, so that a wrong guess about the stack is an
//! answer and not a fault. What is read so may be anything. (`process_vm_readv` would read in one step, but some
//! filters of system calls end the process for it.)

use super::layout::WORD;
use super::read;

/// Returns `true` if the word at an address can be read. The kernel tries: it reads the new mask of signals before it
/// refuses what to do with it. The address is a multiple of a word.
#[inline(always)]
pub(super) fn is_readable(address: usize) -> bool {
    const NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET: libc::c_int = -1;
    // SAFETY: the call never succeeds, so it changes nothing but `errno`, which the handler restores.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            NEITHER_BLOCK_NOR_UNBLOCK_NOR_SET,
            address,
            0_usize,
            WORD,
        );
        *libc::__errno_location() == libc::EINVAL
    }
}

/// The smallest pages of the processors that are supported.
const PAGE: usize = 4096;

/// Returns `true` if the words at two addresses can be read, for which the kernel is asked once if they are on one page.
#[inline(always)]
pub(super) fn are_readable(one: usize, other: usize) -> bool {
    is_readable(one) && (one / PAGE == other / PAGE || is_readable(other))
}

/// Returns `true` if all bytes from the first to the last can be read; `false` if they are on more than a few pages.
#[inline(always)]
pub(super) fn is_range_readable(first: usize, last: usize) -> bool {
    const MOST: usize = 16;
    let (mut page, last) = (first / PAGE, last / PAGE);
    if last.wrapping_sub(page) >= MOST {
        return false;
    }
    while page <= last {
        if !is_readable(page.wrapping_mul(PAGE)) {
            return false;
        }
        page = page.wrapping_add(1);
    }
    true
}

/// Returns the word at an address; `None` if it cannot be read, or is at no word's address.
///
/// # Safety
/// `is_kept` says that the memory is there and stays.
#[inline(always)]
pub(super) unsafe fn word_at(address: usize, is_kept: bool) -> Option<usize> {
    if !address.is_multiple_of(WORD) {
        return None;
    }
    if !is_kept && !is_readable(address) {
        return None;
    }
    // SAFETY: the caller's promise, or the kernel has just read it.
    Some(unsafe { read(address) })
}

/// Returns the number of 16 bits at an address, which is a multiple of two.
///
/// # Safety
/// As for `word_at`, for the whole word that the number is in.
#[inline(always)]
pub(super) unsafe fn short_at(address: usize, is_kept: bool) -> Option<u16> {
    let at = address & (WORD - 1);
    // SAFETY: the caller's promise.
    let word = unsafe { word_at(address.wrapping_sub(at), is_kept) }?;
    Some((word >> (8 * at)) as u16)
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn missing_memory_is_an_answer() {
        let page = 4096;
        // SAFETY: a mapping of its own, of which the second page is taken away.
        let begin = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapped = libc::mmap(ptr::null_mut(), 2 * page, protection, flags, -1, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            libc::munmap(mapped.byte_add(page), page);
            mapped.expose_provenance()
        };
        let last = begin + page - WORD;
        let words = [0x0102_0304_0506_0708_usize];
        let there = (&raw const words[0]).expose_provenance();
        // SAFETY: nothing is said to be kept.
        unsafe {
            assert_eq!(word_at(there, false), Some(words[0]));
            assert_eq!(word_at(last, false), Some(0));
            assert_eq!(word_at(last + WORD, false), None);
            assert_eq!(word_at(last + 1, false), None, "half of it is missing");
            assert!(are_readable(begin, last));
            assert!(!are_readable(last, last + WORD));
            assert!(!are_readable(last + WORD, last));
            assert!(is_range_readable(begin + 3, last + WORD - 1));
            assert!(!is_range_readable(begin + 3, last + WORD));
            assert!(!is_range_readable(begin, begin - 1), "none");
            assert!(!is_range_readable(begin, usize::MAX), "too many");
            assert_eq!(word_at(8, false), None);
            assert_eq!(word_at(0x696d_6f74_612f_7470, false), None, "no address");
            assert_eq!(short_at(there + 2, false), Some(0x0506));
            assert_eq!(short_at(last + WORD + 2, false), None);
            libc::munmap(ptr::with_exposed_provenance_mut(begin), page);
        }
    }
}
