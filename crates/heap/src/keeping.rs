//! What single objects keep alive, for whoever asks about all of them.

use std::io;

use crate::dominators::{Place, TOP};
use crate::heap::Heap;
use crate::memory::Table;

/// What each object of a dump keeps alive.
pub struct Keeping<'a> {
    heap: &'a Heap<'a>,
    /// The place of each object among the dominators; [`TOP`] where no root reaches it.
    places: Table<Place>,
}

/// What an object keeps alive, and what keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Bytes that would be free without it.
    pub bytes: u64,
    /// The object without which it would go; `None` where only all roots together keep it.
    pub dominator: Option<u64>,
}

impl<'a> Keeping<'a> {
    /// Makes the table.
    ///
    /// # Errors
    /// Where a temporary file cannot be made.
    pub fn of(heap: &'a Heap<'a>) -> io::Result<Keeping<'a>> {
        let mut places: Table<Place> = heap.memory.table(heap.objects.count() as usize)?;
        for place in heap.dominators.places() {
            places[heap.dominators.object(place) as usize] = place;
        }
        Ok(Keeping { heap, places })
    }

    /// What an object keeps alive; `None` where no root reaches it.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Retained> {
        let number = self.heap.objects.ids.find(id)?;
        let place = self.places[number as usize];
        if place == TOP {
            return None;
        }
        let dominators = &self.heap.dominators;
        let above = dominators.above(place);
        let dominator = (above != TOP).then(|| dominators.object(above));
        Some(Retained {
            bytes: dominators.retained(place),
            dominator: dominator.map(|number| self.heap.objects.ids.id(number)),
        })
    }
}
