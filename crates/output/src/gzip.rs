//! Compresses the bytes on their way to another sink.

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Sink;

/// A sink of the gzip format (RFC 1952).
///
/// Each piece ends at a point where decompression can stop, so a truncated profile is readable up to its last whole
/// piece. That costs 5 bytes per piece.
pub struct GzipSink<S> {
    encoder: GzEncoder<Vec<u8>>,
    inner: S,
}

impl<S: Sink> GzipSink<S> {
    /// Creates a sink that compresses what it writes to `inner`.
    pub fn new(inner: S) -> Self {
        Self {
            encoder: GzEncoder::new(Vec::new(), Compression::fast()),
            inner,
        }
    }

    fn pass_on(&mut self, is_ending: &AtomicBool) -> io::Result<()> {
        let piece = self.encoder.get_mut();
        let passed = self.inner.write(piece, is_ending);
        piece.clear();
        passed
    }
}

impl<S: Sink> Sink for GzipSink<S> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn write(&mut self, piece: &[u8], is_ending: &AtomicBool) -> io::Result<()> {
        self.encoder.write_all(piece)?;
        self.encoder.flush()?;
        self.pass_on(is_ending)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn finish(&mut self, is_ending: &AtomicBool) -> io::Result<()> {
        self.encoder.try_finish()?;
        self.pass_on(is_ending)?;
        self.inner.finish(is_ending)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::{Arc, Mutex};

    use flate2::read::GzDecoder;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Sink for Memory {
        fn name(&self) -> String {
            "memory".to_owned()
        }

        fn write(&mut self, piece: &[u8], _: &AtomicBool) -> io::Result<()> {
            self.0.lock().expect("no panic").push(piece.to_vec());
            Ok(())
        }

        fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
            Ok(())
        }
    }

    fn decoded(bytes: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let mut text = Vec::new();
        let end = GzDecoder::new(bytes).read_to_end(&mut text).map(|_| ());
        (text, end)
    }

    #[test]
    fn every_piece_can_be_the_last() {
        let memory = Memory::default();
        let is_ending = AtomicBool::new(false);
        let mut sink = GzipSink::new(memory.clone());
        let pieces = [&b"one record, "[..], &[7; 100_000], b"and the last"];
        for piece in pieces {
            sink.write(piece, &is_ending).expect("memory takes all");
        }
        sink.finish(&is_ending).expect("memory takes all");
        let written = memory.0.lock().expect("no panic");
        for count in 1..=pieces.len() {
            let (text, end) = decoded(&written[..count].concat());
            assert!(text == pieces[..count].concat(), "{count}");
            assert!(end.is_err(), "a reader can tell that it was cut off");
        }
        let (text, end) = decoded(&written.concat());
        assert!(text == pieces.concat() && end.is_ok());
    }
}
