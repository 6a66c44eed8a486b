//! What references refer to, read from the VM's own slots for them: a word, where JNI takes a change of the thread's state.
//!
//! HotSpot's references are addresses of slots that hold an object's address; the lowest bits of a weak one are a tag. The slot stays
//! where it is until the reference is deleted.
//!
//! Serial, Parallel and G1 move objects and clear slots only while the program stands still; but native code runs on, and may
//! read half of what a collection changes. So what was read counts only if no collection was under way before, and none has
//! begun since. The VM's events do not tell of all: up to JDK 17, Serial and Parallel collect for a heap dump or a class
//! histogram without one. So the VM's own counter and its own mark are looked at as well, which it sets before an object moves.
//! They, in turn, say nothing of the pauses in which G1 clears slots beside a concurrent mark; of those the events tell.
//!
//! The other collectors change slots while the program runs, and mark the addresses in them; there the VM is asked.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::vm_structs::{VmStructs, read};
use super::{BoolFlag, VmFlags};
use crate::jvmti::callbacks::Event;
use crate::jvmti::collections::{self, ToldCollections};
use crate::jvmti::env::Env;
use crate::jvmti::jni::{Jni, Object, ObjectRef, WeakRef};
use crate::jvmti::prefetch::prefetch_address;
use crate::jvmti::vm_kind::Release;

/// A way into the slots of a VM in which they were found to be as expected.
#[derive(Clone, Copy)]
pub struct WeakSlots {
    tag: usize,
    counters: Counters,
}

/// Where the VM's heap says what it does: fields of `CollectedHeap`, which is made before VMInit and stays.
#[derive(Clone, Copy)]
struct Counters {
    /// Whether a collection is under way: a C++ `bool`.
    is_collecting: usize,
    /// How many have begun: an `unsigned int`.
    collections: usize,
}

/// The time from one collection to the next, in which objects stay where they are and no slot is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    told: ToldCollections,
    counted: u32,
}

/// Where an object is. Until the next collection it stays there, and no other object can be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    /// 0 for an object that has been collected.
    pub address: usize,
    /// How long that is so, see there.
    pub collection: Collection,
}

impl WeakSlots {
    /// The slots of this VM. [`Event::GarbageCollection`] must be on, and stay so while they are used.
    pub fn find(env: Env, jni: Jni<'_>) -> Option<Self> {
        let flags = VmFlags::find(env.vm())?;
        let stops_the_program = [
            BoolFlag::UseSerialGc,
            BoolFlag::UseParallelGc,
            BoolFlag::UseG1Gc,
        ];
        if !stops_the_program.iter().any(|&flag| flags.is_on(flag)) {
            return None;
        }
        let tag = match env.vm_kind().tested()? {
            Release::Jdk11 | Release::Jdk17 => 1,
            Release::Jdk21 | Release::Jdk25 => 3,
        };
        let counters = Counters::find(VmStructs::find(env.vm())?)?;
        // The VM switches events between collections, never in one.
        env.enable(Event::GarbageCollectionStart).ok()?;
        let slots = Self { tag, counters };
        let object = env.current_thread(jni).ok()??;
        let other = jni.find_class(c"java/lang/Object")?;
        let reference = WeakRef::new(jni, object.object())?;
        let is_tagged = reference.address() & tag == 1;
        let known = slots.address_of(&reference)?;
        // A collection may come between: then the VM is asked for the whole session.
        let is_sound = is_tagged
            && known.address != 0
            && slots.address(object.object())? == known
            && slots.address(other.object())?.address != known.address;
        is_sound.then_some(slots)
    }

    /// Where an object is; `None` while a collection is under way.
    #[inline]
    pub fn address(self, object: Object<'_>) -> Option<ObjectAddress> {
        // SAFETY: `object` borrows from what keeps the reference.
        unsafe { self.read(object.raw.expose_provenance()) }
    }

    /// As [`WeakSlots::address`], of what a weak reference refers to.
    #[inline]
    pub fn address_of(self, reference: &WeakRef) -> Option<ObjectAddress> {
        // SAFETY: the reference is deleted when it is dropped.
        unsafe { self.read(reference.address()) }
    }

    /// # Safety
    /// As for [`word`]; whatever kind of reference it is.
    #[inline]
    unsafe fn read(self, reference: usize) -> Option<ObjectAddress> {
        let collection = self.counters.collection()?;
        fence(Ordering::Acquire);
        // SAFETY: the caller's promise. A local reference has no tag.
        let address = unsafe { word(reference & !self.tag) };
        // Whoever reads what a collection has written sees below that it has begun.
        fence(Ordering::Acquire);
        (self.counters.collection() == Some(collection)).then_some(ObjectAddress {
            address,
            collection,
        })
    }

    /// [`WeakSlots::is_dead`] is going to be asked.
    #[inline]
    pub fn prefetch(self, reference: &ObjectRef) {
        prefetch_address(reference.address() & !self.tag);
    }

    /// Whether the object has been collected.
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

    /// What changes with each collection; `None` while one is under way.
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
