//! The VM's heap: the rate of allocation events, collections on request, and the heap's contents.

use std::ffi::c_void;
use std::ptr;

use super::env::{Buffer, Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, LocalRef, Object};
use super::own_objects::OWN_TAG;
use super::sys;

/// The number of bytes between two allocation events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Every allocation sends an event.
    Every,
    /// That many bytes on average, geometrically distributed: 1 to 2147483647.
    Bytes(u32),
}

/// The part of the heap that belongs to one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// Objects.
    pub instances: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Env {
    /// Sets the interval of [`super::Event::Allocation`] for threads that have not allocated yet; the others adopt it
    /// when their allocation buffer is full or retired by a collection.
    pub fn set_allocation_interval(self, interval: Interval) -> Result<(), JvmtiError> {
        let bytes = match interval {
            Interval::Every => 0,
            Interval::Bytes(bytes) => sys::jint::try_from(bytes).unwrap_or(sys::jint::MAX),
        };
        // SAFETY: a plain number.
        unsafe { jvmti!(self, SetHeapSamplingInterval, bytes) }
    }

    /// Collects garbage and waits until that is done.
    pub fn force_garbage_collection(self) -> Result<(), JvmtiError> {
        // SAFETY: no arguments.
        unsafe { jvmti!(self, ForceGarbageCollection) }
    }

    /// Returns all loaded classes, including those of arrays.
    pub fn loaded_classes<'a>(self, jni: Jni<'a>) -> Result<Vec<LocalRef<'a>>, JvmtiError> {
        let mut count = 0;
        let mut classes = ptr::null_mut();
        // SAFETY: both receive answers; `Buffer` frees the array.
        unsafe { jvmti!(self, GetLoadedClasses, &mut count, &mut classes)? };
        let classes = Buffer::new(self, classes, count);
        // The memory for the list, and for the references made from it.
        memory::need(classes.len() * 2 * size_of::<LocalRef<'a>>());
        jni.announce_locals(classes.len());
        Ok(classes
            .iter()
            .filter_map(|&raw| LocalRef::new(jni, raw))
            .collect())
    }

    /// Counts the objects in the heap by class: the result has one entry for each of `classes`, in order, and a last
    /// one for all others. The agent's own objects ([`super::OwnObjects`]) are not counted. Stops the program while it
    /// counts.
    pub fn class_histogram(self, classes: &[Object<'_>]) -> Result<Vec<ClassCount>, JvmtiError> {
        memory::need(classes.len() * size_of::<ClassCount>());
        let mut counts = vec![ClassCount::default(); classes.len() + 1];
        for (index, class) in classes.iter().enumerate() {
            self.set_tag(*class, index as sys::jlong + 1)?;
        }
        let callbacks = sys::jvmtiHeapCallbacks {
            heap_iteration_callback: Some(count_object),
            ..Default::default()
        };
        let counted: *mut Vec<ClassCount> = &mut counts;
        // SAFETY: the VM calls `count_object` during this call only, with `counted` as its last argument; nobody else
        // uses `counts` meanwhile. No filter, and null for all classes.
        let answer = unsafe {
            jvmti!(
                self,
                IterateThroughHeap,
                0,
                ptr::null_mut(),
                &callbacks,
                counted.cast::<c_void>().cast_const()
            )
        };
        for class in classes {
            self.set_tag(*class, 0)?;
        }
        answer.map(|()| counts)
    }

    pub(super) fn set_tag(self, object: Object<'_>, tag: sys::jlong) -> Result<(), JvmtiError> {
        // SAFETY: the object's reference is valid.
        unsafe { jvmti!(self, SetTag, object.raw, tag) }
    }
}

/// Runs while the VM is stopped: only counts, and calls nothing.
unsafe extern "C" fn count_object(
    class_tag: sys::jlong,
    size: sys::jlong,
    tag: *mut sys::jlong,
    _length: sys::jint,
    counts: *mut c_void,
) -> sys::jint {
    // SAFETY: the VM passes the place of the object's tag.
    if unsafe { *tag } == OWN_TAG {
        return 0;
    }
    // SAFETY: `class_histogram` passes its vector, which nobody else uses during the walk.
    let counts = unsafe { &mut *counts.cast::<Vec<ClassCount>>() };
    let others = counts.len() - 1;
    let index = usize::try_from(class_tag - 1).map_or(others, |index| index.min(others));
    counts[index].instances += 1;
    counts[index].bytes += size as u64;
    0
}
