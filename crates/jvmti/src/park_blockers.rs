//! The fields by which locks of `java.util.concurrent` tell who waits for them, and who owns them.

use std::ffi::CStr;

use super::jni::{GlobalRef, Jni, LocalRef, Object, jni};
use super::sys;

const THREAD: &CStr = c"java/lang/Thread";
const OWNABLE: &CStr = c"java/util/concurrent/locks/AbstractOwnableSynchronizer";

/// Finds the locks for which threads are parked, and the owners of these locks.
pub struct ParkBlockers {
    /// `Thread.parkBlocker`, which `LockSupport.park` sets while a thread is parked.
    blocker: sys::jfieldID,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`.
    owner: sys::jfieldID,
    /// The class that has `owner`.
    ownable: GlobalRef,
    /// `Thread.tid`.
    id: sys::jfieldID,
}

// SAFETY: a field's id may be used on every thread, as long as its class is loaded; the boot loader's always are.
unsafe impl Send for ParkBlockers {}
// SAFETY: as above.
unsafe impl Sync for ParkBlockers {}

impl ParkBlockers {
    /// Looks up the fields; `None` in a VM whose classes do not have them.
    pub fn find(jni: Jni<'_>) -> Option<Self> {
        let thread = jni.find_class(THREAD)?;
        let ownable = jni.find_class(OWNABLE)?;
        Some(Self {
            blocker: jni.field(thread.object(), c"parkBlocker", c"Ljava/lang/Object;")?,
            owner: jni.field(
                ownable.object(),
                c"exclusiveOwnerThread",
                c"Ljava/lang/Thread;",
            )?,
            ownable: GlobalRef::new(jni, ownable.object())?,
            id: jni.field(thread.object(), c"tid", c"J")?,
        })
    }

    /// Returns the lock, or another synchronizer, for which a thread is parked. `thread` must be a thread.
    pub fn lock_wanted_by<'a>(&self, jni: Jni<'a>, thread: Object<'_>) -> Option<LocalRef<'a>> {
        // SAFETY: the field is one of java.lang.Thread, and of type Object; both references are valid.
        let raw = unsafe { jni!(jni, GetObjectField, thread.raw, self.blocker) };
        let blocker = LocalRef::new(jni, raw)?;
        // SAFETY: both references are valid, and the second one is a class.
        let is_ownable = unsafe { jni!(jni, IsInstanceOf, blocker.raw, self.ownable.raw) };
        is_ownable.then_some(blocker)
    }

    /// Returns the number by which Java distinguishes a thread from all others. `thread` must be a thread.
    pub fn id(&self, jni: Jni<'_>, thread: Object<'_>) -> i64 {
        // SAFETY: the field is one of java.lang.Thread, and of type long; the reference is valid.
        unsafe { jni!(jni, GetLongField, thread.raw, self.id) }
    }

    /// Returns the thread that owns a lock that [`ParkBlockers::lock_wanted_by`] returned; `None` if it is free or shared.
    pub fn owner<'a>(&self, jni: Jni<'a>, lock: Object<'_>) -> Option<LocalRef<'a>> {
        // SAFETY: the field is one of the lock's class, as `lock_wanted_by` made sure, and of type Thread.
        let raw = unsafe { jni!(jni, GetObjectField, lock.raw, self.owner) };
        LocalRef::new(jni, raw)
    }
}
