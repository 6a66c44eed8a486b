//! A buffer over a source that grows with the bytes that the source supplies, never with a claimed length.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use crate::bytes::in_memory;

/// The initial size of the buffer, in bytes; as long as every piece asked for is shorter, it does not grow.
const INITIAL: usize = 64 * 1024;
/// The bytes that are read at first after a jump. A reader that jumps from record to record needs no more.
const AFTER_JUMP: usize = 512;

/// The bytes of a source from its current position, as far as they have been read.
#[derive(Debug)]
pub(crate) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
    /// The bytes to read at once, if no more are wanted.
    ahead: usize,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(source: R) -> Window<R> {
        Window {
            source,
            buffer: vec![0; INITIAL],
            start: 0,
            end: 0,
            position: 0,
            ahead: INITIAL,
        }
    }

    /// Returns the position of the next byte in the source.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reads until `wanted` bytes are available, or the source ends; returns the number of them that are. Reads at most
    /// 64 KB more.
    pub(crate) fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        while self.end - self.start < wanted {
            self.make_room(wanted);
            // Sources keep no more than this for readers that go back.
            let ahead = self.buffer.len().min(self.start + wanted.max(self.ahead));
            self.ahead = INITIAL;
            match self.source.read(&mut self.buffer[self.end..ahead]) {
                Ok(0) => return Ok(self.end - self.start),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted)
    }

    /// Returns the available bytes; at least as many as the last [`Window::fill`] returned.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Advances by `count` bytes and returns them. They must be available.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        self.position += count as u64;
        &self.buffer[start..self.start]
    }

    /// Advances by `count` bytes; returns the number of them that the source did not have.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let step = in_memory(left.min(INITIAL as u64));
            let available = self.fill(step)?;
            if available == 0 {
                return Ok(left);
            }
            self.take(available);
            left -= available as u64;
        }
        Ok(0)
    }

    fn make_room(&mut self, wanted: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.end < self.buffer.len() {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            return;
        }
        // Full of bytes that really existed: doubling at most limits the cost of a false length.
        let length = wanted.min(2 * self.buffer.len());
        self.buffer.resize(length, 0);
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

impl<R: Seek> Window<R> {
    /// Goes to `position`, which must have been reached before. The source need not have been at its start in the
    /// beginning. Bytes that are still in the buffer are not read again.
    pub(crate) fn seek(&mut self, position: u64) -> io::Result<()> {
        let read_up_to = self.position + (self.end - self.start) as u64;
        if let Some(after) = read_up_to.checked_sub(position)
            && let Ok(after) = usize::try_from(after)
            && let Some(start) = self.end.checked_sub(after)
        {
            self.start = start;
            self.position = position;
            return Ok(());
        }
        // Files have at most 2^63 - 1 bytes.
        let step = position.cast_signed() - read_up_to.cast_signed();
        self.source.seek(SeekFrom::Current(step))?;
        (self.start, self.end) = (0, 0);
        self.position = position;
        self.ahead = AFTER_JUMP;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Returns one byte at a time, every second time only after an interrupt.
    struct Trickle {
        left: Vec<u8>,
        interrupted: bool,
    }

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            let Some(byte) = self.left.pop() else {
                return Ok(0);
            };
            buffer[0] = byte;
            Ok(1)
        }
    }

    #[test]
    fn a_slow_source_is_read_until_there_is_enough() {
        let mut window = Window::new(Trickle {
            left: vec![3, 2, 1],
            interrupted: false,
        });
        assert_eq!(window.fill(2).expect("interrupts are not errors"), 2);
        assert_eq!(window.take(2), [1, 2]);
        assert_eq!(window.fill(5).expect("interrupts are not errors"), 1);
        assert_eq!(window.bytes(), [3]);
    }

    #[test]
    fn pieces_longer_than_the_buffer_come_whole() {
        let source: Vec<u8> = (0..300_000_u32)
            .map(|index| index.to_le_bytes()[0])
            .collect();
        let mut window = Window::new(source.as_slice());
        assert_eq!(window.fill(9).expect("a slice gives no errors"), 9);
        assert_eq!(window.take(9), &source[..9]);
        assert_eq!(
            window.fill(250_000).expect("a slice gives no errors"),
            250_000
        );
        assert_eq!(window.take(250_000), &source[9..250_009]);
        assert_eq!(window.position(), 250_009);
    }

    #[test]
    fn skipping_counts_what_is_missing() {
        let source = vec![7; 200_000];
        let mut window = Window::new(source.as_slice());
        assert_eq!(window.skip(150_000).expect("a slice gives no errors"), 0);
        assert_eq!(window.position(), 150_000);
        assert_eq!(
            window
                .skip(u64::from(u32::MAX))
                .expect("a slice gives no errors"),
            u64::from(u32::MAX) - 50_000
        );
    }

    #[test]
    fn what_is_in_the_buffer_is_not_read_again() {
        struct Source(Cursor<Vec<u8>>, u32);

        impl Read for Source {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.1 += 1;
                self.0.read(buffer)
            }
        }

        impl Seek for Source {
            fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
                self.1 += 1;
                self.0.seek(to)
            }
        }

        let bytes: Vec<u8> = (0..300_000_u32)
            .map(|index| (index / 7).to_le_bytes()[0])
            .collect();
        let mut window = Window::new(Source(Cursor::new(bytes.clone()), 0));
        for start in (0..290_000).step_by(50) {
            for length in [9, 40] {
                assert_eq!(window.fill(length).expect("no errors"), length);
                assert_eq!(window.take(length), &bytes[start..start + length]);
                window.seek(start as u64).expect("no errors");
            }
            window.fill(50).expect("no errors");
            window.take(50);
        }
        assert!(window.source.1 < 100, "{} calls", window.source.1);
        // After a jump, a little is read first.
        window.seek(0).expect("no errors");
        window.fill(9).expect("no errors");
        assert_eq!(window.source.0.position(), AFTER_JUMP as u64);
        window.fill(AFTER_JUMP + 1).expect("no errors");
        assert_eq!(window.source.0.position(), INITIAL as u64);
        for start in [0, 299_990, 150_000_usize] {
            window.seek(start as u64).expect("no errors");
            assert_eq!(
                (window.fill(5).expect("no errors"), window.position()),
                (5, start as u64)
            );
            assert_eq!(window.take(5), &bytes[start..][..5]);
        }
    }

    #[test]
    fn a_false_length_costs_no_memory() {
        let source = vec![7; 100_000];
        let mut window = Window::new(source.as_slice());
        assert_eq!(
            window
                .fill(u32::MAX as usize)
                .expect("a slice gives no errors"),
            100_000
        );
        assert!(
            window.capacity() <= 4 * 100_000,
            "{} bytes",
            window.capacity()
        );
    }
}
