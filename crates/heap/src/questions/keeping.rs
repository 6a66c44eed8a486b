//! The retained sizes of single objects, for callers that need all of them.

use std::io;

use crate::data::dominators::{Place, TOP};
use crate::data::heap::Heap;
use crate::data::memory::Numbers;

/// The retained sizes of all objects of a dump.
pub struct Keeping<'a> {
    heap: &'a Heap<'a>,
    /// The place of each object in the dominator tree; [`TOP`] if no root reaches it.
    places: Numbers<Place>,
    /// The dominator of each place.
    above: Numbers<Place>,
}

/// The retained size of an object, and its dominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Bytes that would be freed without it.
    pub bytes: u64,
    /// The object without which it would be freed; `None` if only all roots together keep it alive.
    pub dominator: Option<u64>,
}

impl<'a> Keeping<'a> {
    /// Builds the tables.
    ///
    /// # Errors
    /// An error if a temporary file cannot be created.
    pub fn of(heap: &'a Heap<'a>) -> io::Result<Keeping<'a>> {
        let mut places: Numbers<Place> = heap.memory.table(heap.objects.count() as usize)?;
        for (place, object) in heap.dominators.all() {
            places[object as usize] = place;
        }
        let above = heap.dominators.all_above(&heap.memory)?;
        Ok(Keeping {
            heap,
            places,
            above,
        })
    }

    /// Returns the retained size of an object; `None` if no root reaches it.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Retained> {
        let number = self.heap.objects.ids.find(id)?;
        let place = self.places[number as usize];
        if place == TOP {
            return None;
        }
        let dominators = &self.heap.dominators;
        let above = self.above[place as usize];
        let dominator = (above != TOP).then(|| dominators.object(above));
        Some(Retained {
            bytes: self.heap.retained(place),
            dominator: dominator.map(|number| self.heap.objects.ids.id(number)),
        })
    }
}
