//! One thread's cache of sites, by the top of the stack and the class, which needs no shared state.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;

use super::super::sites::{SiteId, SiteKey};
use super::super::state::TrackerState;
use super::known_classes::{ClassIndex, KnownClass, KnownClasses};
use super::site_table::{FoundSite, SiteTable};
use jvmti::{Allocation, Jni, Object};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::{FramesMark, StackKey, StackTop};

/// The number of classes of one trace that are compared one by one before the class's own hash is used, which takes the
/// VM longer.
const COMPARED_CLASSES: usize = 4;
/// The most sites in the caches of all threads together, 27 to 53 bytes each. A thread that finds them full clears its
/// own.
const CACHED: usize = 1_000_000;

/// The sites at which one thread has allocated.
pub(super) struct SiteCache {
    /// Sites by the key of the stack above them, and by class.
    sites: SiteTable,
    classes: KnownClasses,
    /// The number of entries in all threads' caches.
    cached_by_all: Arc<AtomicUsize>,
    hasher: FixedState,
}

impl Drop for SiteCache {
    fn drop(&mut self) {
        self.forget();
    }
}

/// The values that identify a site, as far as they are known without asking the VM.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    stack: StackKey,
    class: SoughtClass,
}

#[derive(Clone, Copy)]
enum SoughtClass {
    Known(ClassIndex),
    /// The thread has allocated no object of it, or a collection is under way.
    Unknown,
    /// Only the VM can tell whether two classes are the same.
    Asked,
}

/// Returns the number of classes of one stack that are compared one by one; 0 if the stack has no frames, because then
/// it is shared by all kinds of classes.
fn compared_classes(stack: &StackTop) -> usize {
    if stack.is_empty() {
        0
    } else {
        COMPARED_CLASSES
    }
}

impl SiteCache {
    pub(super) fn new(cached_by_all: Arc<AtomicUsize>) -> Self {
        Self {
            sites: SiteTable::default(),
            classes: KnownClasses::default(),
            cached_by_all,
            hasher: FixedState::default(),
        }
    }

    /// Looks at the stack and the class of an allocation on the current thread, and prefetches the memory of its site,
    /// which is requested next.
    #[inline]
    pub(super) fn seek(
        &mut self,
        shared: &TrackerState,
        stack: &mut StackTop,
        jni: Jni<'_>,
        class: Object<'_>,
    ) -> Sought {
        let class = match shared.slots() {
            Some(slots) => match self.classes.find(slots, class) {
                Some(index) => SoughtClass::Known(index),
                None => SoughtClass::Unknown,
            },
            None => SoughtClass::Asked,
        };
        let stack = stack.look(&shared.top_frames, jni, shared.stacks.depth());
        if let SoughtClass::Known(index) = class {
            self.sites.prefetch(index.key_under(stack.0));
        }
        Sought { stack, class }
    }

    /// Returns the site of the allocation that was looked at.
    #[inline]
    pub(super) fn site(
        &mut self,
        shared: &TrackerState,
        mut sought: Sought,
        stack: &mut StackTop,
        serial: &mut Option<ThreadSerial>,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) -> SiteId {
        let class = allocation.class;
        let crowd = compared_classes(stack);
        let (_, found) = self.find(shared, sought, crowd, jni, class);
        if let FoundSite::Site(place) = found
            && stack.is(&shared.top_frames, || self.sites.frames(place))
        {
            return place.site;
        }
        sought.stack = stack.resolve(&shared.top_frames, &shared.stacks, jni);
        let (key, found) = self.find(shared, sought, crowd, jni, class);
        if let FoundSite::Site(place) = found {
            return place.site;
        }
        self.new_site(shared, (sought, key), stack, serial, jni, allocation)
    }

    /// Returns the site of an allocation that this thread has not seen yet; `key` is the key that [`SiteCache::find`]
    /// returned.
    #[cold]
    fn new_site(
        &mut self,
        shared: &TrackerState,
        (sought, key): (Sought, u64),
        stack: &mut StackTop,
        serial: &mut Option<ThreadSerial>,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) -> SiteId {
        let trace = new_trace(shared, jni, allocation, stack, serial);
        let (id, reference) = match sought.class {
            SoughtClass::Known(index) => {
                let known = self.classes.get(index);
                (known.id, Some(known.reference.clone()))
            }
            // The event holds a reference to the class, so naming it fails only if the VM is out of memory.
            _ => shared
                .stacks
                .class_and_reference(jni, allocation.class)
                .unwrap_or_else(|_| (shared.stacks.unknown_class(), None)),
        };
        let site = shared.sites.intern(SiteKey { class: id, trace });
        if let Some(reference) = reference {
            let known = KnownClass { id, reference };
            let place = (site, stack.mark());
            self.remember(shared, jni, (sought, key), allocation.class, &known, place);
        }
        site
    }

    /// Looks up the site, and returns the key under which it is, or would be.
    #[inline]
    fn find(
        &self,
        shared: &TrackerState,
        sought: Sought,
        crowd: usize,
        jni: Jni<'_>,
        class: Object<'_>,
    ) -> (u64, FoundSite) {
        let stack = sought.stack;
        match sought.class {
            SoughtClass::Known(index) => {
                let key = index.key_under(stack.0);
                let is_it = |other| other == index;
                (key, self.sites.find(key, usize::MAX, is_it))
            }
            SoughtClass::Unknown => (stack.0, FoundSite::Nothing),
            SoughtClass::Asked => self.find_and_ask(shared, stack, crowd, jni, class),
        }
    }

    fn find_and_ask(
        &self,
        shared: &TrackerState,
        stack: StackKey,
        crowd: usize,
        jni: Jni<'_>,
        class: Object<'_>,
    ) -> (u64, FoundSite) {
        let is_it = |index| self.classes.is(index, jni, class);
        let found = self.sites.find(stack.0, crowd, is_it);
        if !matches!(found, FoundSite::Crowd) {
            return (stack.0, found);
        }
        let identity = shared.env.identity_hash(class).unwrap_or(0);
        let key = self.hasher.hash_one((stack, identity));
        (key, self.sites.find(key, usize::MAX, is_it))
    }

    /// Adds the site of a class that a stack allocates.
    fn remember(
        &mut self,
        shared: &TrackerState,
        jni: Jni<'_>,
        (sought, key): (Sought, u64),
        class: Object<'_>,
        known: &KnownClass,
        (site, frames): (SiteId, FramesMark),
    ) {
        let is_full = self.cached_by_all.load(Ordering::Relaxed) >= CACHED;
        if is_full {
            self.forget();
        }
        let index = match sought.class {
            SoughtClass::Known(index) if !is_full => Some(index),
            _ => self.classes.add(jni, shared.slots(), class, known),
        };
        let Some(index) = index else { return };
        let key = match sought.class {
            SoughtClass::Asked => key,
            _ => index.key_under(sought.stack.0),
        };
        // It exists already if a collection was under way when it was looked up.
        let found = self.sites.find(key, usize::MAX, |other| other == index);
        if !matches!(found, FoundSite::Site(_)) {
            self.sites.insert(key, site, frames, index);
            self.cached_by_all.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn forget(&mut self) {
        self.cached_by_all
            .fetch_sub(self.sites.len(), Ordering::Relaxed);
        self.sites = SiteTable::default();
        self.classes = KnownClasses::default();
    }
}

/// Returns the trace of a stack that this thread has not seen yet.
fn new_trace(
    shared: &TrackerState,
    jni: Jni<'_>,
    allocation: Allocation<'_>,
    stack: &mut StackTop,
    own_serial: &mut Option<ThreadSerial>,
) -> TraceId {
    if stack.is_empty() {
        return TraceId::EMPTY;
    }
    let serial = own_serial.or_else(|| current_serial(shared, jni, allocation));
    *own_serial = serial;
    let serial = serial.unwrap_or(ThreadSerial::UNKNOWN);
    stack.trace(&shared.stacks, jni, serial)
}

/// Returns the serial number of the allocating thread, which is the current one.
fn current_serial(
    shared: &TrackerState,
    jni: Jni<'_>,
    allocation: Allocation<'_>,
) -> Option<ThreadSerial> {
    let registered = &shared.registered;
    let serial = registered
        .remembered()
        .or_else(|| registered.serial(jni, allocation.thread?));
    serial.map(ThreadSerial)
}
