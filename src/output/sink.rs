//! Where the bytes go.

use std::io;
use std::sync::atomic::AtomicBool;

/// A place for the profile, which takes it in pieces that end at the end of a record.
pub trait Sink: Send {
    /// The place, for a message.
    fn name(&self) -> String;

    /// Takes a piece, whole or not at all where the place allows that: after an error what came before stays readable.
    /// A place that may wait for somebody else waits less once the program `is_ending`.
    fn write(&mut self, piece: &[u8], is_ending: &AtomicBool) -> io::Result<()>;

    /// Everything has come.
    fn finish(&mut self, is_ending: &AtomicBool) -> io::Result<()>;
}
