//! Reads the objects of references directly from the VM's slots: reading a word, whereas JNI needs a change of the
//! thread's state.
//!
//! HotSpot's references are addresses of slots that hold an object's address; the lowest bits of a weak one are a tag.
//! The slot does not move until the reference is deleted.
//!
//! Serial, Parallel and G1 move objects and clear slots only while the program is stopped; but native code runs on, and
//! may read while a collection makes its changes. So a value that was read counts only if no collection was under way
//! before, and none has begun since. The VM does not send events for all collections: up to JDK 17, Serial and Parallel
//! collect for a heap dump or a class histogram without one. So the VM's own counter and flag are checked as well,
//! which it sets before an object moves. They, in turn, do not cover the pauses in which G1 clears slots during a
//! concurrent mark; for those there are events.
//!
//! The other garbage collectors change slots while the program runs, and mark the addresses in them; with those the VM
//! is asked instead.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::{BoolFlag, VmFlags};
use crate::callbacks::Event;
use crate::collections::{self, ToldCollections};
use crate::env::Env;
use crate::jni::{Jni, Object, ObjectRef, WeakRef};
use crate::prefetch::prefetch_address;
use crate::vm_kind::Release;
use crate::vm_kind::vm_structs::{VmStructs, read};

/// Access to the slots of a VM in which they were found to be as expected.
#[derive(Clone, Copy)]
pub struct WeakSlots {
    tag: usize,
    counters: Counters,
}

/// The addresses of the VM's own counters: fields of `CollectedHeap`, which is created before VMInit and never moves.
#[derive(Clone, Copy)]
struct Counters {
    /// The flag that is set while a collection is under way: a C++ `bool`.
    is_collecting: usize,
    /// The number of collections that have begun: an `unsigned int`.
    collections: usize,
}

/// The time from one collection to the next, in which objects do not move and no slot is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    told: ToldCollections,
    counted: u32,
}

/// The address of an object. Until the next collection the object stays there, and no other object can be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    /// The address; 0 for an object that has been collected.
    pub address: usize,
    /// The time for which the address is valid.
    pub collection: Collection,
}

impl WeakSlots {
    /// Finds the slots of this VM. [`Event::GarbageCollection`] must be enabled, and stay so while they are used.
    pub fn find(env: Env, jni: Jni<'_>) -> Option<Self> {
        let vm = env.tested_vm()?;
        let flags = VmFlags::find(vm.structs())?;
        let stops_the_program = [
            BoolFlag::UseSerialGc,
            BoolFlag::UseParallelGc,
            BoolFlag::UseG1Gc,
        ];
        if !stops_the_program.iter().any(|&flag| flags.is_on(flag)) {
            return None;
        }
        let tag = if vm.release() < Release::Jdk21 { 1 } else { 3 };
        let counters = Counters::find(vm.structs())?;
        // The VM enables events between collections, never during one.
        env.enable(Event::GarbageCollectionStart).ok()?;
        let slots = Self { tag, counters };
        let object = env.current_thread(jni).ok()??;
        let other = jni.find_class(c"java/lang/Object")?;
        let reference = WeakRef::new(jni, object.object())?;
        let is_tagged = reference.address() & tag == 1;
        let known = slots.address_of(&reference)?;
        // If a collection comes in between, the VM is asked for the whole session.
        let is_sound = is_tagged
            && known.address != 0
            && slots.address(object.object())? == known
            && slots.address(other.object())?.address != known.address;
        is_sound.then_some(slots)
    }

    /// Returns the address of an object; `None` while a collection is under way.
    #[inline]
    pub fn address(self, object: Object<'_>) -> Option<ObjectAddress> {
        // SAFETY: `object` borrows from what keeps the reference.
        unsafe { self.read(object.raw.expose_provenance()) }
    }

    /// As [`WeakSlots::address`], for the object of a weak reference.
    #[inline]
    pub fn address_of(self, reference: &WeakRef) -> Option<ObjectAddress> {
        // SAFETY: the reference is deleted when it is dropped.
        unsafe { self.read(reference.address()) }
    }

    /// # Safety
    /// As for [`word`]; the reference may be of any kind.
    #[inline]
    unsafe fn read(self, reference: usize) -> Option<ObjectAddress> {
        let collection = self.counters.collection()?;
        fence(Ordering::Acquire);
        // SAFETY: the caller's promise. A local reference has no tag.
        let address = unsafe { word(reference & !self.tag) };
        // A thread that reads a collection's write sees below that the collection has begun.
        fence(Ordering::Acquire);
        (self.counters.collection() == Some(collection)).then_some(ObjectAddress {
            address,
            collection,
        })
    }

    /// Prefetches the slot for [`WeakSlots::is_dead`].
    #[inline]
    pub fn prefetch(self, reference: &ObjectRef) {
        prefetch_address(reference.address() & !self.tag);
    }

    /// Returns `true` if the object has been collected.
    #[inline]
    pub fn is_dead(self, reference: &ObjectRef) -> bool {
        // SAFETY: the reference has not been deleted: that takes it.
        unsafe { word(reference.address() & !self.tag) == 0 }
    }
}

impl Counters {
    fn find(structs: VmStructs) -> Option<Self> {
        let heap = structs.field(c"Universe", c"_collectedHeap")?.not_null()?;
        // SAFETY: the tables say that this static field is there; it holds a pointer.
        let heap: usize = unsafe { read(heap.addr()) };
        let field = |name| structs.field(c"CollectedHeap", name);
        let is_collecting = field(c"_is_gc_active").or_else(|| field(c"_is_stw_gc_active"))?;
        let collections = field(c"_total_collections")?;
        let is_sound =
            heap != 0 && is_collecting.is_of(c"bool") && collections.is_of(c"unsigned int");
        is_sound.then_some(Self {
            is_collecting: heap + is_collecting.offset,
            collections: heap + collections.offset,
        })
    }

    /// Returns a value that changes with each collection; `None` while one is under way.
    #[inline]
    fn collection(self) -> Option<Collection> {
        let told = collections::told()?;
        // SAFETY: fields of the VM's heap, of these types, which lives as long as the VM.
        let (is_collecting, counted) =
            unsafe { (read::<u8>(self.is_collecting), read(self.collections)) };
        (is_collecting == 0).then_some(Collection { told, counted })
    }
}

/// # Safety
/// `slot` is that of a reference that the VM has given and that has not been deleted.
#[inline]
unsafe fn word(slot: usize) -> usize {
    let slot = ptr::with_exposed_provenance_mut(slot);
    // SAFETY: the caller's promise; a slot is an aligned word, and the VM writes it whole.
    unsafe { AtomicUsize::from_ptr(slot) }.load(Ordering::Relaxed)
}
