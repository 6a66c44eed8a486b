//! Dangling references.
//!
//! The VM's archive of classes (CDS) keeps the `java.lang.Class` objects of all its classes in one array, and the dump
//! omits those whose class has not been loaded. Readers of a dump expect every reference to be valid, so these become
//! null.

use memory::{List, Map, OrStop, Set};

use super::blocks::{id_of, look_up};
use super::first_pass::FirstPass;
use super::source::Source;
use crate::engines::heap_dump::DumpError;
use hprof_format::bytes::read_u64_be;

/// The longest array that is examined. An archive refers to a few thousand classes; longer arrays are the program's.
const LONGEST: u32 = 1_000_000;

/// Arrays with dangling elements.
#[derive(Default)]
pub(super) struct Dangling {
    arrays: Map<u64, List<u64>>,
}

impl Dangling {
    /// Searches the arrays that the VM holds, except those in `known`.
    pub(super) fn find(
        source: &Source,
        first_pass: &FirstPass,
        known: &Set<u64>,
    ) -> Result<Self, DumpError> {
        let mut arrays = Map::<u64, List<u64>>::default();
        let held = first_pass.globals.iter().filter(|id| !known.contains(*id));
        for &id in held {
            if let Some(array) = first_pass.array(id).filter(|array| array.length <= LONGEST) {
                let elements = source.read_at(array.offset, array.length as usize * 8)?;
                let elements = elements.chunks_exact(8).map(|id| read_u64_be(id, 0));
                let elements = List::collect(elements.filter(|&id| id != 0)).or_stop();
                arrays.insert(id, elements).or_stop();
            }
        }
        let all = arrays.values().flatten().copied();
        let mut missing = Set::<u64>::collect(all).or_stop();
        for class in first_pass.classes.values() {
            missing.remove(&class.object);
        }
        let mut sorted = List::collect(missing.iter().copied()).or_stop();
        sorted.sort_unstable();
        look_up(source, &first_pass.blocks, &sorted, |_, record, _| {
            missing.remove(&id_of(record));
        })?;
        for elements in arrays.values_mut() {
            elements.retain(|id| missing.contains(id));
            elements.sort_unstable();
        }
        arrays.retain(|_, elements| !elements.is_empty());
        Ok(Self { arrays })
    }

    /// Sets the dangling elements of an array to null.
    pub(super) fn clear(&self, array: u64, elements: &mut [u8]) {
        let Some(missing) = self.arrays.get(&array) else {
            return;
        };
        for element in elements.chunks_exact_mut(8) {
            if missing.binary_search(&read_u64_be(element, 0)).is_ok() {
                element.fill(0);
            }
        }
    }
}
