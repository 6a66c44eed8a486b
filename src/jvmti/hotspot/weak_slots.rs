//! What references refer to, read from the VM's own slots for them: a word, where JNI takes a change of the thread's state.
//!
//! HotSpot's references are addresses of slots that hold an object's address; the lowest bits of a weak one are a tag. The slot stays
//! where it is until the reference is deleted.
//!
//! Serial, Parallel and G1 move objects and clear slots only between the two events of a collection, while the program stands
//! still; but native code runs on, and may read half of what a collection changes. So what was read counts only if no collection
//! was under way before, and none has begun since. The other collectors change slots while the program runs, and mark the
//! addresses in them; there the VM is asked.

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::{BoolFlag, VmFlags};
use crate::jvmti::callbacks::Event;
use crate::jvmti::collections;
use crate::jvmti::env::Env;
use crate::jvmti::jni::{Jni, Object, ObjectRef, WeakRef};

/// A way into the slots of a VM in which they were found to be as expected.
#[derive(Clone, Copy)]
pub struct WeakSlots {
    tag: usize,
}

/// An object that is recognized by its slot, where that can be.
pub struct KnownObject {
    reference: Arc<WeakRef>,
    slot: Option<NonZeroUsize>,
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
        let known = KnownObject::new(Arc::new(reference), Some(slots));
        // A collection may come between: then the VM is asked for the whole session.
        let is_sound = is_tagged
            && known.is_by_slot(object.object()) == Some(true)
            && known.is_by_slot(other.object()) == Some(false);
        is_sound.then_some(slots)
    }

    /// Whether the object has been collected.
    #[inline]
    pub fn is_dead(self, reference: &ObjectRef) -> bool {
        // SAFETY: the reference has not been deleted: that takes it.
        unsafe { word(reference.address() & !self.tag) == 0 }
    }
}

impl KnownObject {
    /// The object that a weak reference names.
    pub fn new(reference: Arc<WeakRef>, slots: Option<WeakSlots>) -> Self {
        let slot = slots.and_then(|slots| NonZeroUsize::new(reference.address() & !slots.tag));
        Self { reference, slot }
    }

    /// Whether it is this one, which a local reference names.
    #[inline]
    pub fn is(&self, jni: Jni<'_>, local: Object<'_>) -> bool {
        self.is_by_slot(local)
            .unwrap_or_else(|| self.reference.is(jni, local))
    }

    #[inline]
    fn is_by_slot(&self, local: Object<'_>) -> Option<bool> {
        let slot = self.slot?;
        let collection = collections::current()?;
        // SAFETY: `reference` keeps its slot. A local reference has no tag, and is the current thread's: its slot is there
        // while the object is borrowed.
        let (known, other) = unsafe { (word(slot.get()), word(local.raw.expose_provenance())) };
        // Whoever reads what a collection has written sees below that it has begun.
        fence(Ordering::Acquire);
        (collections::current() == Some(collection)).then_some(known == other)
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
