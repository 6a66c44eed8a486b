//! Reads memory that may be freed at any time: that of a thread which may be ending.

use std::ffi::c_void;
use std::io;
use std::ptr;

/// Reads single words through the kernel, which reports an error if there is no memory. (`process_vm_readv` is refused
/// in many containers.)
pub(crate) struct Peek {
    read_end: libc::c_int,
    write_end: libc::c_int,
}

impl Peek {
    pub(crate) fn new() -> io::Result<Self> {
        let mut ends = [-1; 2];
        // SAFETY: both descriptors are written there.
        match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } {
            0 => Ok(Self {
                read_end: ends[0],
                write_end: ends[1],
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the word at an address; `None` if there is no memory. If the memory has been reused, the word is
    /// whatever is there now.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let mut word = 0_usize;
        let length = size_of::<usize>();
        let from = ptr::without_provenance::<c_void>(address);
        // SAFETY: the kernel reads and writes the memory; it answers EFAULT for an address that cannot be read, of
        // which a pipe takes nothing then. The second address is that of a word.
        unsafe {
            if libc::write(self.write_end, from, length) != length as isize {
                return None;
            }
            let read = libc::read(self.read_end, (&raw mut word).cast(), length);
            (read == length as isize).then_some(word)
        }
    }
}

impl Drop for Peek {
    fn drop(&mut self) {
        // SAFETY: the descriptors are this value's alone.
        unsafe {
            libc::close(self.read_end);
            libc::close(self.write_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_missing_memory_is_none() {
        let peek = Peek::new().expect("a pipe");
        let words = [1_usize, 0x0102_0304_0506_0708];
        assert_eq!(
            peek.word((&raw const words[1]).expose_provenance()),
            Some(words[1])
        );
        let page = 4096;
        // SAFETY: a mapping of its own, which nothing else refers to.
        let gone = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapped = libc::mmap(ptr::null_mut(), page, protection, flags, -1, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            assert_eq!(peek.word(mapped.addr()), Some(0));
            libc::munmap(mapped, page);
            mapped.addr()
        };
        assert_eq!(peek.word(gone), None);
        assert_eq!(peek.word(8), None);
        assert_eq!(
            peek.word((&raw const words[0]).expose_provenance()),
            Some(1)
        );
    }
}
