//! `redact=y`: the content of objects goes before a dump leaves the agent's memory.

use std::io;

use hprof_format::{RedactKey, SegmentRedactor};
use rustix::rand::{GetRandomFlags, getrandom};

use super::DumpError;

/// Returns a redactor for one dump, with a key that nobody else has.
pub(super) fn redactor() -> Result<SegmentRedactor, DumpError> {
    let mut key = [0; 16];
    let mut filled = 0;
    while filled < key.len() {
        let more = getrandom(&mut key[filled..], GetRandomFlags::empty());
        filled += more.map_err(|error| DumpError::Key(io::Error::from(error)))?;
    }
    Ok(SegmentRedactor::new(RedactKey::new(&key)))
}
