//! The number of garbage collections that HotSpot has counted. It sends the events of a collection for each pause, of
//! which a concurrent one has several.

use crate::env::Env;
use crate::vm_kind::vm_structs::read;

/// Tells the number of collections so far.
#[derive(Clone, Copy)]
pub struct CollectionCount {
    /// The address of the number.
    address: usize,
}

impl CollectionCount {
    /// Finds the number; `None` in a VM that does not export it. The VM must be initialized.
    pub fn find(env: Env) -> Option<Self> {
        let structs = env.vm_structs()?;
        let heap = structs.field(c"Universe", c"_collectedHeap")?.not_null()?;
        // SAFETY: the tables say that this static field is there; it holds a pointer.
        let heap: usize = unsafe { read(heap.addr()) };
        let count = structs.field(c"CollectedHeap", c"_total_collections")?;
        let is_sound = heap != 0 && count.is_of(c"unsigned int");
        is_sound.then_some(Self {
            address: heap + count.offset,
        })
    }

    /// Returns the number of collections that have begun.
    pub fn get(self) -> u32 {
        // SAFETY: a field of the VM's heap, of this type; the heap lives as long as the VM.
        unsafe { read(self.address) }
    }
}
