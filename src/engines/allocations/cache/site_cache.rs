//! One thread's cache of sites, by the top of the stack and the class, which needs no shared state.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;

use super::super::budget::Step;
use super::super::sites::{SiteId, SiteKey};
use super::super::state::TrackerState;
use super::known_classes::{ClassIndex, KnownClass, KnownClasses};
use super::site_table::{FoundSite, SiteTable};
use jvmti::{Allocation, Jni};
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

/// The event of an allocation on the current thread.
#[derive(Clone, Copy)]
pub(super) struct AllocationEvent<'jni> {
    pub(super) jni: Jni<'jni>,
    pub(super) allocation: Allocation<'jni>,
    /// The step at which the VM chose it.
    pub(super) step: Step,
}

/// The stack of the current thread.
pub(super) struct CurrentStack<'a> {
    pub(super) top: &'a mut StackTop,
    /// The thread's serial number, once that has been needed.
    pub(super) serial: &'a mut Option<ThreadSerial>,
}

/// The values that identify a site, as far as they are known without asking the VM.
#[derive(Clone, Copy)]
pub(super) struct SiteLookup {
    stack: StackKey,
    class: ClassLookup,
}

#[derive(Clone, Copy)]
enum ClassLookup {
    Known(ClassIndex),
    /// The thread has allocated no object of it, or a collection is under way.
    Unknown,
    /// Only the VM can tell whether two classes are the same.
    Asked,
}

/// A site that is added to the cache.
struct NewSite {
    site: SiteId,
    frames: FramesMark,
    class: KnownClass,
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
    pub(super) fn look_up(
        &mut self,
        shared: &TrackerState,
        stack: &mut StackTop,
        event: AllocationEvent<'_>,
    ) -> SiteLookup {
        let AllocationEvent {
            jni, allocation, ..
        } = event;
        let class = allocation.class;
        let class = match shared.slots() {
            Some(slots) => match self.classes.find(slots, class) {
                Some(index) => ClassLookup::Known(index),
                None => ClassLookup::Unknown,
            },
            None => ClassLookup::Asked,
        };
        let stack = stack.look(&shared.top_frames, jni, shared.stacks.depth());
        if let ClassLookup::Known(index) = class {
            self.sites.prefetch(index.key_under(stack.0));
        }
        SiteLookup { stack, class }
    }

    /// Returns the site of the allocation that was looked at.
    #[inline]
    pub(super) fn site(
        &mut self,
        shared: &TrackerState,
        mut lookup: SiteLookup,
        stack: CurrentStack<'_>,
        event: AllocationEvent<'_>,
    ) -> SiteId {
        let top = &mut *stack.top;
        let compared = compared_classes(top);
        let (_, found) = self.find(shared, lookup, compared, event);
        if let FoundSite::Site(place) = found
            && top.is(&shared.top_frames, || self.sites.frames(place))
        {
            return place.site;
        }
        lookup.stack = top.resolve(&shared.top_frames, &shared.stacks, event.jni);
        let (key, found) = self.find(shared, lookup, compared, event);
        if let FoundSite::Site(place) = found {
            return place.site;
        }
        self.new_site(shared, lookup, key, stack, event)
    }

    /// Returns the site of an allocation that this thread has not seen yet; `key` is the key that [`SiteCache::find`]
    /// returned.
    #[cold]
    fn new_site(
        &mut self,
        shared: &TrackerState,
        lookup: SiteLookup,
        key: u64,
        mut stack: CurrentStack<'_>,
        event: AllocationEvent<'_>,
    ) -> SiteId {
        let trace = stack.new_trace(shared, event);
        let (id, reference) = match lookup.class {
            ClassLookup::Known(index) => {
                let known = self.classes.get(index);
                (known.id, Some(known.reference.clone()))
            }
            // The event holds a reference to the class, so naming it fails only if the VM is out of memory.
            _ => shared
                .stacks
                .class_and_reference(event.jni, event.allocation.class)
                .unwrap_or_else(|_| (shared.stacks.unknown_class(), None)),
        };
        let site = shared.sites.intern(SiteKey { class: id, trace });
        if let Some(reference) = reference {
            let new = NewSite {
                site,
                frames: stack.top.mark(),
                class: KnownClass { id, reference },
            };
            self.remember(shared, lookup, key, event, &new);
        }
        site
    }

    /// Looks up the site, and returns the key under which it is, or would be. So many classes of its stack are `compared`
    /// before the class's own hash is used.
    #[inline]
    fn find(
        &self,
        shared: &TrackerState,
        lookup: SiteLookup,
        compared: usize,
        event: AllocationEvent<'_>,
    ) -> (u64, FoundSite) {
        let stack = lookup.stack;
        match lookup.class {
            ClassLookup::Known(index) => {
                let key = index.key_under(stack.0);
                let is_it = |other| other == index;
                (key, self.sites.find(key, usize::MAX, is_it))
            }
            ClassLookup::Unknown => (stack.0, FoundSite::Nothing),
            ClassLookup::Asked => self.find_and_ask(shared, stack, compared, event),
        }
    }

    fn find_and_ask(
        &self,
        shared: &TrackerState,
        stack: StackKey,
        compared: usize,
        event: AllocationEvent<'_>,
    ) -> (u64, FoundSite) {
        let class = event.allocation.class;
        let is_it = |index| self.classes.is(index, event.jni, class);
        let found = self.sites.find(stack.0, compared, is_it);
        if !matches!(found, FoundSite::TooMany) {
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
        lookup: SiteLookup,
        key: u64,
        event: AllocationEvent<'_>,
        new: &NewSite,
    ) {
        let is_full = self.cached_by_all.load(Ordering::Relaxed) >= CACHED;
        if is_full {
            self.forget();
        }
        let class = event.allocation.class;
        let index = match lookup.class {
            ClassLookup::Known(index) if !is_full => Some(index),
            _ => self
                .classes
                .add(event.jni, shared.slots(), class, &new.class),
        };
        let Some(index) = index else { return };
        let key = match lookup.class {
            ClassLookup::Asked => key,
            _ => index.key_under(lookup.stack.0),
        };
        // It exists already if a collection was under way when it was looked up.
        let found = self.sites.find(key, usize::MAX, |other| other == index);
        if !matches!(found, FoundSite::Site(_)) {
            self.sites.insert(key, new.site, new.frames, index);
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

impl CurrentStack<'_> {
    /// Returns the trace of a stack that this thread has not seen yet.
    fn new_trace(&mut self, shared: &TrackerState, event: AllocationEvent<'_>) -> TraceId {
        if self.top.is_empty() {
            return TraceId::EMPTY;
        }
        *self.serial = self.serial.or_else(|| current_serial(shared, event));
        let serial = self.serial.unwrap_or(ThreadSerial::UNKNOWN);
        self.top.trace(&shared.stacks, event.jni, serial)
    }
}

/// Returns the serial number of the allocating thread, which is the current one.
fn current_serial(shared: &TrackerState, event: AllocationEvent<'_>) -> Option<ThreadSerial> {
    let registered = &shared.registered;
    let serial = registered
        .remembered()
        .or_else(|| registered.serial(event.jni, event.allocation.thread?));
    serial.map(ThreadSerial)
}
