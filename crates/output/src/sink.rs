//! The destinations of the encoded bytes.

use std::io;
use std::sync::atomic::AtomicBool;

/// A destination for the profile, which is written in pieces of whole records.
pub trait Sink: Send {
    /// The destination's name, for messages.
    fn name(&self) -> String;

    /// Writes a piece, whole or not at all if the destination allows that: after an error everything before it stays
    /// readable. A sink that may wait for a reader waits less long once the program `is_ending`.
    fn write(&mut self, piece: &[u8], is_ending: &AtomicBool) -> io::Result<()>;

    /// Makes sure that what was written so far survives a failure of the system, if the destination can.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called after the last piece.
    fn finish(&mut self, is_ending: &AtomicBool) -> io::Result<()>;
}
