//! What each thread keeps for itself, so that the common allocation takes no lock that another thread wants.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;
use parking_lot::Mutex;

use super::TrackerState;
use super::live_objects::Nursery;
use super::site_table::{FoundSite, SiteTable};
use crate::engines::allocations::sites::{SiteId, SiteKey};
use crate::jvmti::{Allocation, FrameInfo, Jni, KnownObject, Object, SessionId, WeakRef};
use crate::names::class::ClassId;
use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;
use crate::stacks::{FramesMark, StackKey, StackTop};

/// As many classes of one trace are compared with each other, before the class's own hash is asked for, which takes the
/// VM longer.
const CROWD: usize = 4;
/// Sites that the caches of all threads hold together, 27 to 53 bytes each. A thread that finds them full starts anew.
const CACHED: usize = 1_000_000;

thread_local! {
    static LOCAL: RefCell<Option<ThreadSites>> = const { RefCell::new(None) };
}

/// The cache and the nursery of one thread of the system. A virtual thread uses those of whichever carries it.
pub(super) struct ThreadSites {
    /// A thread may find what it kept for an earlier session, which is over.
    session: SessionId,
    stack: StackTop,
    cache: Arc<Mutex<SiteCache>>,
    nursery: Arc<Nursery>,
    serial: Option<ThreadSerial>,
    /// What the thread makes is the agent's.
    is_muted: bool,
}

/// What one thread knows of sites. Only that thread uses it while objects are tracked, so its lock is free; the lock is
/// taken before those of `Stacks` and the tables.
pub(super) struct SiteCache {
    /// Sites by the key of the stack above them.
    sites: SiteTable,
    /// The entries of all threads' caches.
    cached_by_all: Arc<AtomicUsize>,
    hasher: FixedState,
}

impl Drop for SiteCache {
    fn drop(&mut self) {
        self.forget();
    }
}

impl ThreadSites {
    /// Runs `body` with what the current thread keeps. An allocation inside an allocation event, or on a thread that is
    /// being taken down, finds it taken, and gets something for the moment.
    pub(super) fn with(shared: &TrackerState, body: impl FnOnce(&mut ThreadSites)) {
        let mut body = Some(body);
        let _ = LOCAL.try_with(|local| {
            if let Ok(mut local) = local.try_borrow_mut()
                && let Some(body) = body.take()
            {
                local.take_if(|local| local.session != shared.session);
                body(local.get_or_insert_with(|| ThreadSites::new(shared)));
            }
        });
        if let Some(body) = body {
            body(&mut ThreadSites::new(shared));
        }
    }

    fn new(shared: &TrackerState) -> Self {
        let cache = Arc::new(Mutex::new(SiteCache {
            sites: SiteTable::default(),
            cached_by_all: shared.cached.clone(),
            hasher: FixedState::default(),
        }));
        shared.caches.lock().push(Arc::downgrade(&cache));
        Self {
            session: shared.session,
            stack: StackTop::default(),
            cache,
            nursery: shared.live.new_nursery(),
            serial: None,
            is_muted: false,
        }
    }

    pub(super) fn set_serial(&mut self, serial: ThreadSerial) {
        self.serial = Some(serial);
    }

    pub(super) fn set_muted(&mut self, is_muted: bool) {
        self.is_muted = is_muted;
    }

    pub(super) fn allocated(
        &mut self,
        shared: &TrackerState,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) {
        if self.is_muted {
            return;
        }
        let site = self.site(shared, jni, allocation);
        if !shared.live.add(&self.nursery, jni, allocation, site) {
            // Nobody will see it die.
            let weight = shared.sample_weight.weight(allocation.size);
            shared.sites.get(site).add_allocated(weight);
        }
    }

    fn site(&mut self, shared: &TrackerState, jni: Jni<'_>, allocation: Allocation<'_>) -> SiteId {
        let class = allocation.class;
        let mut cache = self.cache.lock();
        let depth = shared.stacks.depth();
        let key = self.stack.look(&shared.top_frames, jni, depth);
        let crowd = crowd(&self.stack);
        let (_, found) = cache.look(shared, key, crowd, jni, class);
        if let FoundSite::Site(place) = found
            && self
                .stack
                .is(&shared.top_frames, || cache.sites.frames(place))
        {
            return place.site;
        }
        let key = self.stack.resolve(&shared.top_frames, jni);
        let (key, found) = cache.look(shared, key, crowd, jni, class);
        if let FoundSite::Site(place) = found {
            return place.site;
        }
        let frames = self.stack.frames();
        let new = new_site(shared, jni, allocation, frames, &mut self.serial);
        cache.remember(shared, jni, key, class, self.stack.mark(), &new);
        new.site
    }
}

/// A site that a thread has not seen before, and a reference to its class.
struct NewSite {
    site: SiteId,
    class: ClassId,
    reference: Option<Arc<WeakRef>>,
}

/// How many classes are looked through of those that are made by one stack; all kinds are where there are no frames.
fn crowd(stack: &StackTop) -> usize {
    if stack.is_empty() { 0 } else { CROWD }
}

impl SiteCache {
    /// Looks for the site of a class that a stack makes, and says under which key it is, or would be.
    #[inline]
    fn look(
        &self,
        shared: &TrackerState,
        stack: StackKey,
        crowd: usize,
        jni: Jni<'_>,
        class: Object<'_>,
    ) -> (u64, FoundSite) {
        let found = self.sites.find(stack.0, crowd, jni, class);
        if !matches!(found, FoundSite::Crowd) {
            return (stack.0, found);
        }
        let identity = shared.env.identity_hash(class).unwrap_or(0);
        let key = self.hasher.hash_one((stack, identity));
        (key, self.sites.find(key, usize::MAX, jni, class))
    }

    fn remember(
        &mut self,
        shared: &TrackerState,
        jni: Jni<'_>,
        key: u64,
        class: Object<'_>,
        frames: FramesMark,
        new: &NewSite,
    ) {
        let Some(reference) = &new.reference else {
            return;
        };
        if self.cached_by_all.load(Ordering::Relaxed) >= CACHED {
            self.forget();
        }
        let known = || KnownObject::new(reference.clone(), shared.slots());
        if let Some(index) = self.sites.class_index(jni, new.class, class, known) {
            self.sites.insert(key, new.site, frames, index);
            self.cached_by_all.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn forget(&mut self) {
        self.cached_by_all
            .fetch_sub(self.sites.len(), Ordering::Relaxed);
        self.sites = SiteTable::default();
    }
}

/// The site of an allocation that this thread has not seen yet.
fn new_site(
    shared: &TrackerState,
    jni: Jni<'_>,
    allocation: Allocation<'_>,
    frames: &[FrameInfo],
    own_serial: &mut Option<ThreadSerial>,
) -> NewSite {
    let trace = match frames {
        [] => TraceId::EMPTY,
        frames => {
            let serial = own_serial.or_else(|| current_serial(shared, jni, allocation));
            *own_serial = serial;
            let serial = serial.unwrap_or(ThreadSerial::UNKNOWN);
            shared.stacks.trace(jni, serial, frames)
        }
    };
    // The event holds the class, so naming it fails only when the VM is out of memory.
    let (class, reference) = shared
        .stacks
        .class_and_reference(jni, allocation.class)
        .unwrap_or_else(|_| (shared.stacks.unknown_class(), None));
    NewSite {
        site: shared.sites.intern(SiteKey { class, trace }),
        class,
        reference,
    }
}

/// The serial number of the thread that allocates, which is the current one.
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
