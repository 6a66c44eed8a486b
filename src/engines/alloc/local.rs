//! What each thread keeps for itself, so that the common allocation takes no lock that another thread wants.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::Shared;
use super::live::Nursery;
use crate::jvmti::{Allocation, Frame, Jni, Object, Weak};
use crate::tables::site::{SiteId, SiteKey};
use crate::tables::thread::ThreadSerial;
use crate::tables::trace::TraceId;

/// As many classes of one trace are compared with each other, before the class's own hash is asked for, which takes the
/// VM longer.
const CROWD: usize = 4;
/// Entries that share a hash stand at keys this far apart; any odd number that spreads.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Sites that the caches of all threads hold together, 28 bytes each. A thread that finds them full starts anew.
const CACHED: usize = 1_000_000;

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// The cache and the nursery of one thread of the system. A virtual thread uses those of whichever carries it.
pub(super) struct Local {
    frames: Vec<Frame>,
    /// Sites by the hash of the frames above them. 64 bits tell the traces of a program apart: among a million of them
    /// two meet with a chance of one in ten million.
    sites: HashMap<u64, CachedSite, FixedState>,
    /// The entries of all threads' caches.
    cached_by_all: Arc<AtomicUsize>,
    hasher: FixedState,
    nursery: Arc<Nursery>,
    serial: Option<ThreadSerial>,
}

struct CachedSite {
    class: Arc<Weak>,
    site: SiteId,
}

/// Where a site is in the cache, or would be.
enum Place {
    Taken(SiteId),
    Free(u64),
    Crowded,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Local {
    /// Runs `body` with what the current thread keeps. An allocation inside an allocation event, or on a thread that is
    /// being taken down, finds it taken, and gets something for the moment.
    pub(super) fn with(shared: &Shared, body: impl FnOnce(&mut Local)) {
        let mut body = Some(body);
        let _ = LOCAL.try_with(|local| {
            if let Ok(mut local) = local.try_borrow_mut()
                && let Some(body) = body.take()
            {
                body(local.get_or_insert_with(|| Local::new(shared)));
            }
        });
        if let Some(body) = body {
            body(&mut Local::new(shared));
        }
    }

    fn new(shared: &Shared) -> Self {
        Self {
            frames: vec![Frame::default(); shared.stacks.depth()],
            sites: HashMap::default(),
            cached_by_all: shared.cached.clone(),
            hasher: FixedState::default(),
            nursery: shared.live.new_nursery(),
            serial: None,
        }
    }

    pub(super) fn set_serial(&mut self, serial: ThreadSerial) {
        self.serial = Some(serial);
    }

    pub(super) fn allocated(&mut self, shared: &Shared, jni: Jni<'_>, allocation: Allocation<'_>) {
        let depth = shared.stacks.depth();
        if self.frames.len() != depth {
            self.frames.resize(depth, Frame::default());
        }
        let count = shared.top_frames.top_frames(&mut self.frames);
        let site = self.site(shared, jni, allocation, count);
        shared
            .tables
            .sites
            .get(site)
            .add_allocated(shared.scale.weight(allocation.size));
        shared.live.add(&self.nursery, jni, allocation, site);
    }

    fn site(
        &mut self,
        shared: &Shared,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
        count: usize,
    ) -> SiteId {
        let class = allocation.class;
        let trace = self.hasher.hash_one(&self.frames[..count]);
        // Traces without frames have classes of all kinds.
        let crowd = if count == 0 { 0 } else { CROWD };
        let mut place = self.find(trace, crowd, jni, class);
        if let Place::Crowded = place {
            let identity = shared.env.identity_hash(class).unwrap_or(0);
            place = self.find(
                self.hasher.hash_one((trace, identity)),
                usize::MAX,
                jni,
                class,
            );
        }
        if let Place::Taken(site) = place {
            return site;
        }
        let (site, class) = self.new_site(shared, jni, allocation, count);
        if let (Place::Free(key), Some(class)) = (place, class) {
            self.remember(key, CachedSite { class, site });
        }
        site
    }

    /// Looks for the class at `length` places from `start` on.
    fn find(&self, start: u64, length: usize, jni: Jni<'_>, class: Object<'_>) -> Place {
        let mut key = start;
        for _ in 0..length {
            match self.sites.get(&key) {
                None => return Place::Free(key),
                Some(cached) if cached.class.is(jni, class) => return Place::Taken(cached.site),
                Some(_) => key = key.wrapping_add(STEP),
            }
        }
        Place::Crowded
    }

    fn remember(&mut self, key: u64, site: CachedSite) {
        if self.cached_by_all.load(Ordering::Relaxed) >= CACHED {
            self.forget();
        }
        self.sites.insert(key, site);
        self.cached_by_all.fetch_add(1, Ordering::Relaxed);
    }

    fn forget(&mut self) {
        self.cached_by_all
            .fetch_sub(self.sites.len(), Ordering::Relaxed);
        self.sites = HashMap::default();
    }

    /// The site of an allocation that this thread has not seen yet, and a reference to its class.
    fn new_site(
        &mut self,
        shared: &Shared,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
        count: usize,
    ) -> (SiteId, Option<Arc<Weak>>) {
        let trace = match count {
            0 => TraceId::EMPTY,
            _ => {
                let serial = self.serial(shared, allocation.thread);
                shared.stacks.trace(jni, serial, &self.frames[..count])
            }
        };
        // The event holds the class, so naming it fails only when the VM is out of memory.
        let (class, reference) = shared
            .stacks
            .class_and_reference(jni, allocation.class)
            .unwrap_or_else(|_| (shared.stacks.unknown_class(), None));
        (
            shared.tables.sites.intern(SiteKey { class, trace }),
            reference,
        )
    }

    /// The number of the platform thread that this is.
    fn serial(&mut self, shared: &Shared, thread: Option<Object<'_>>) -> ThreadSerial {
        if let Some(serial) = self.serial {
            return serial;
        }
        let mark = thread.and_then(|thread| shared.env.thread_mark(Some(thread)).ok());
        let serial = mark.and_then(|mark| u32::try_from(mark).ok());
        let serial = serial.filter(|&serial| serial != 0).map(ThreadSerial);
        self.serial = serial;
        serial.unwrap_or(ThreadSerial::UNKNOWN)
    }
}
