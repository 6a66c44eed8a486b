//! Random bytes of the system.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Fills `bytes` with random ones, fit for keys.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(())
}
