//! Sections that this version does not know.

use std::io::Read;

use super::TextError;
use super::lines::Lines;

/// Skips a section up to its last line, `GC PAUSES END`.
pub(super) fn skip<R: Read>(lines: &mut Lines<R>, name: &str) -> Result<(), TextError> {
    let start = lines.number();
    let end = format!("{name} END");
    while lines.within("section of another version", start)? != end {}
    Ok(())
}
