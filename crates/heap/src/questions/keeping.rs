//! The retained sizes of single objects, for callers that need all of them.

use std::io;

use crate::data::dominators::{Node, TOP};
use crate::data::heap::Heap;
use crate::data::memory::Numbers;
use hprof_format::ObjectId;

/// The retained sizes of all objects of a dump.
pub struct Keeping<'a> {
    heap: &'a Heap<'a>,
    /// The position of each object in the dominator tree; that of [`TOP`] if no root reaches it.
    nodes: Numbers<u32>,
    /// That of the dominator of each node.
    above: Numbers<u32>,
}

/// The retained size of an object, and its dominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Bytes that would be freed without it.
    pub bytes: u64,
    /// The object without which it would be freed; `None` if only all roots together keep it alive.
    pub dominator: Option<ObjectId>,
}

impl<'a> Keeping<'a> {
    /// Builds the tables.
    ///
    /// # Errors
    /// An error if a temporary file cannot be created.
    pub fn of(heap: &'a Heap<'a>) -> io::Result<Keeping<'a>> {
        let mut nodes: Numbers<u32> = heap.memory.table(heap.objects.count() as usize)?;
        for (node, object) in heap.dominators.all() {
            nodes[object.place()] = node.0;
        }
        let above = heap.dominators.all_above(&heap.memory)?;
        Ok(Keeping { heap, nodes, above })
    }

    /// Returns the retained size of an object; `None` if no root reaches it.
    #[must_use]
    pub fn find(&self, id: ObjectId) -> Option<Retained> {
        let number = self.heap.objects.ids.find(id)?;
        let node = Node(self.nodes[number.place()]);
        if node == TOP {
            return None;
        }
        let dominators = &self.heap.dominators;
        let above = Node(self.above[node.0 as usize]);
        let dominator = (above != TOP).then(|| dominators.object(above));
        Some(Retained {
            bytes: self.heap.retained_of(number)?,
            dominator: dominator.map(|number| self.heap.objects.ids.id(number)),
        })
    }
}
