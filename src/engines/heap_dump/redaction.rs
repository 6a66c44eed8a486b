//! `redact=y`: the content of objects goes before a dump leaves the agent's memory.

use hprof_format::{RedactKey, SegmentRedactor};

use super::DumpError;
use crate::os::fill_with_random_bytes;

/// Returns a redactor for one dump, with a key that nobody else has.
pub(super) fn redactor() -> Result<SegmentRedactor, DumpError> {
    let mut key = [0; 16];
    fill_with_random_bytes(&mut key).map_err(DumpError::Key)?;
    Ok(SegmentRedactor::new(RedactKey::new(&key)))
}
