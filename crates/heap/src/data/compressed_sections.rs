//! The sections of an index that hold the parts of a compressed dump's content which every question needs.

use std::io::Write;
use std::ops::Range;

use crate::data::compressed::CompressedSections;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::sections::SectionWriter;

/// Writes the sections of a dump in a gzip file; those of another file are empty.
pub(crate) fn save(heap: &Heap<'_>, out: &mut SectionWriter<impl Write>) -> Result<(), Error> {
    let Some(compressed) = heap.dump.compressed() else {
        CompressedSections::save_none(out)?;
        return Ok(());
    };
    let mut parts = heap.dump.outside()?;
    for class in heap.classes.dumped() {
        let Some(found) = heap.dump.records_from(class.offset).next() else {
            continue;
        };
        let start = class.offset as usize;
        parts.push(start..start + found?.record.bytes().len());
    }
    let parts = joined(parts);
    for part in &parts {
        compressed.provide(part.start, part.end)?;
    }
    compressed.save(&parts, heap.dump.content(), out)?;
    Ok(())
}

/// Joins ranges that touch or overlap.
fn joined(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.sort_unstable_by_key(|part| part.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match joined.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        let parts = vec![5..7, 0..2, 6..9, 2..3, 4..4, 20..21];
        assert_eq!(joined(parts), [0..3, 5..9, 20..21]);
    }
}
