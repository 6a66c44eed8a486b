//! What references refer to, read from the VM's own slots for them: a word, where JNI takes a change of the thread's state.
//!
//! HotSpot's references are addresses of slots that hold an object's address; the lowest bits of a weak one are a tag. The slot stays
//! where it is until the reference is deleted.
//!
//! Serial, Parallel and G1 move objects and clear slots only between the two events of a collection, while the program stands
//! still; but native code runs on, and may read half of what a collection changes. So what was read counts only if no collection
//! was under way before, and none has begun since. The other collectors change slots while the program runs, and mark the
//! addresses in them; there the VM is asked.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::{BoolFlag, VmFlags};
use crate::jvmti::callbacks::Event;
use crate::jvmti::collections::{self, Collection};
use crate::jvmti::env::Env;
use crate::jvmti::jni::{Jni, Object, ObjectRef, WeakRef};
use crate::jvmti::prefetch::prefetch_address;

/// A way into the slots of a VM in which they were found to be as expected.
#[derive(Clone, Copy)]
pub struct WeakSlots {
    tag: usize,
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
        let tag = match env.vm_version()? {
            11 | 17 => 1,
            21 | 25 => 3,
            _ => return None,
        };
        // The VM switches events between collections, never in one.
        env.enable(Event::GarbageCollectionStart).ok()?;
        let slots = Self { tag };
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
        let collection = collections::current()?;
        // SAFETY: the caller's promise. A local reference has no tag.
        let address = unsafe { word(reference & !self.tag) };
        // Whoever reads what a collection has written sees below that it has begun.
        fence(Ordering::Acquire);
        (collections::current() == Some(collection)).then_some(ObjectAddress {
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

/// # Safety
/// `slot` is that of a reference that the VM has given and that has not been deleted.
#[inline]
unsafe fn word(slot: usize) -> usize {
    let slot = ptr::with_exposed_provenance_mut(slot);
    // SAFETY: the caller's promise; a slot is an aligned word, and the VM writes it whole.
    unsafe { AtomicUsize::from_ptr(slot) }.load(Ordering::Relaxed)
}
