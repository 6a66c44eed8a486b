//! References that lead nowhere.
//!
//! The VM's archive of classes (CDS) keeps the `java.lang.Class` objects of all its classes in one array, and the dump
//! leaves those out whose class has not been loaded. Whoever reads a dump expects a reference to lead somewhere, so these
//! become null.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use hprof_format::{HeapRecords, IdSize};

use super::bytes::u8;
use super::source::Source;
use super::survey::{Survey, has_content};
use crate::engines::heap_dump::DumpError;

type Set = HashSet<u64, FixedState>;

/// An archive refers to some thousand classes. What is longer is the program's.
const LONGEST: u32 = 1_000_000;

/// Records of the heap that were looked at together.
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) length: usize,
    /// The lowest and the highest id of their objects.
    pub(super) ids: (u64, u64),
}

/// Arrays with elements that lead nowhere.
#[derive(Default)]
pub(super) struct Dangling {
    arrays: HashMap<u64, Vec<u64>, FixedState>,
}

impl Dangling {
    /// Looks through the arrays that the VM holds, without those in `known`.
    pub(super) fn find(source: &Source, survey: &Survey, known: &Set) -> Result<Self, DumpError> {
        let mut arrays = HashMap::<u64, Vec<u64>, FixedState>::default();
        let held = survey.globals.iter().filter(|id| !known.contains(*id));
        for &id in held {
            if let Some(array) = survey.array(id).filter(|array| array.length <= LONGEST) {
                let elements = source.read_at(array.offset, array.length as usize * 8)?;
                let elements = elements.chunks_exact(8).map(|id| u8(id, 0));
                arrays.insert(id, elements.filter(|&id| id != 0).collect());
            }
        }
        let mut missing: Set = arrays.values().flatten().copied().collect();
        for class in survey.classes.values() {
            missing.remove(&class.object);
        }
        remove_what_is_there(source, survey, &mut missing)?;
        for elements in arrays.values_mut() {
            elements.retain(|id| missing.contains(id));
            elements.sort_unstable();
        }
        arrays.retain(|_, elements| !elements.is_empty());
        Ok(Self { arrays })
    }

    /// Makes null of those elements of an array that lead nowhere.
    pub(super) fn clear(&self, array: u64, elements: &mut [u8]) {
        let Some(missing) = self.arrays.get(&array) else {
            return;
        };
        for element in elements.chunks_exact_mut(8) {
            if missing.binary_search(&u8(element, 0)).is_ok() {
                element.fill(0);
            }
        }
    }
}

/// Reads only the blocks that could have one.
fn remove_what_is_there(
    source: &Source,
    survey: &Survey,
    missing: &mut Set,
) -> Result<(), DumpError> {
    let mut sorted: Vec<u64> = missing.iter().copied().collect();
    sorted.sort_unstable();
    for block in &survey.blocks {
        let (low, high) = block.ids;
        let first = sorted.partition_point(|&id| id < low);
        if sorted.get(first).is_none_or(|&id| id > high) {
            continue;
        }
        let bytes = source.read_at(block.offset, block.length)?;
        for record in HeapRecords::new(&bytes, IdSize::Eight) {
            // A large array may be cut; it is the last of its block.
            let Ok(record) = record else { break };
            if has_content(record.kind()) {
                missing.remove(&u8(record.bytes(), 1));
            }
        }
        if has_content_at(&bytes) {
            missing.remove(&u8(&bytes, 1));
        }
    }
    Ok(())
}

/// Whether the bytes start with an object.
fn has_content_at(bytes: &[u8]) -> bool {
    let kind = bytes
        .first()
        .and_then(|&tag| hprof_format::HeapKind::from_tag(tag));
    bytes.len() > 8 && kind.is_some_and(has_content)
}
