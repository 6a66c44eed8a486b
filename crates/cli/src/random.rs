//! Random bytes of the system.

use std::io;

/// Fills `bytes` with random ones, fit for keys.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}
