//! The end of a command that gets no more memory: a line and the exit status of every other failure. Without this, Rust
//! would abort, which looks like a fault of the program and may leave a core file.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, except that it never fails: it ends the process instead. Requests that their caller can do
/// without ([`hprof_heap::is_asking`]) do fail.
struct Infallible;

#[global_allocator]
static ALLOCATOR: Infallible = Infallible;

// SAFETY: all four pass their arguments to the system's allocator and return its result. The contract is the same, so a
// caller that keeps this one keeps the system's. Nothing here unwinds or allocates.
unsafe impl GlobalAlloc for Infallible {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is this function's.
        let memory = unsafe { System.alloc(layout) };
        checked(memory, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let memory = unsafe { System.alloc_zeroed(layout) };
        checked(memory, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; the memory comes from `System`, like everything that this allocator returns.
        let memory = unsafe { System.realloc(memory, layout, size) };
        checked(memory, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && !hprof_heap::is_asking() {
        end(size);
    }
    memory
}

/// Reports the failed request, and ends the process. Nothing else may run: this can be called anywhere, with any lock
/// held.
#[cold]
fn end(size: usize) -> ! {
    let mut line = MessageLine::default();
    line.push(b"hprof: out of memory: the system refuses ");
    line.push_number(size);
    line.push(b" bytes\n");
    hprof_os::process::end_with(&line.bytes[..line.length])
}

/// A short line, built without an allocation.
struct MessageLine {
    bytes: [u8; 80],
    length: usize,
}

impl Default for MessageLine {
    fn default() -> MessageLine {
        MessageLine {
            bytes: [0; 80],
            length: 0,
        }
    }
}

impl MessageLine {
    /// Appends a text, as far as there is room.
    fn push(&mut self, text: &[u8]) {
        for &byte in text {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
    }

    fn push_number(&mut self, mut number: usize) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len() - 1;
        for place in (0..digits.len()).rev() {
            if number == 0 {
                break;
            }
            #[expect(clippy::cast_possible_truncation, reason = "a digit is below 10")]
            let digit = (number % 10) as u8;
            digits[place] += digit;
            number /= 10;
            first = place;
        }
        self.push(&digits[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much() {
        for (size, text) in [(0, "0"), (7, "7"), (1_234_500, "1234500")] {
            let mut line = MessageLine::default();
            line.push_number(size);
            assert_eq!(&line.bytes[..line.length], text.as_bytes());
        }
        let mut line = MessageLine::default();
        line.push_number(usize::MAX);
        line.push(&[b'x'; 200]);
        assert!(line.bytes.starts_with(usize::MAX.to_string().as_bytes()));
        assert_eq!(line.length, 80);
    }

    #[test]
    fn what_is_asked_for_may_be_refused() {
        let mut vector = Vec::<u8>::new();
        assert!(!hprof_heap::is_asking());
        vector.try_reserve(100).expect("there is room");
    }
}
