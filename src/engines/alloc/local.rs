//! What each thread keeps for itself, so that the common allocation takes no lock that another thread wants.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::Arc;

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

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// The cache and the nursery of one thread of the system. A virtual thread uses those of whichever carries it.
pub(super) struct Local {
    frames: Vec<Frame>,
    /// Sites by the hash of the frames above them. 64 bits tell the traces of a program apart: among a million of them
    /// two meet with a chance of one in ten million.
    sites: HashMap<u64, Vec<CachedSite>, FixedState>,
    hasher: FixedState,
    nursery: Arc<Nursery>,
    serial: Option<ThreadSerial>,
}

struct CachedSite {
    class: Arc<Weak>,
    site: SiteId,
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
            hasher: FixedState::default(),
            nursery: shared.live.new_nursery(),
            serial: None,
        }
    }

    pub(super) fn set_serial(&mut self, serial: ThreadSerial) {
        self.serial = Some(serial);
    }

    pub(super) fn allocated(
        &mut self,
        shared: &Shared,
        jni: Jni<'_>,
        thread: Object<'_>,
        allocation: Allocation<'_>,
    ) {
        let count = shared.top_frames.top_frames(&mut self.frames);
        let site = self.site(shared, jni, thread, allocation.class, count);
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
        thread: Object<'_>,
        class: Object<'_>,
        count: usize,
    ) -> SiteId {
        let trace = self.hasher.hash_one(&self.frames[..count]);
        if let Some(site) = self.cached(trace, jni, class) {
            return site;
        }
        // Where one trace makes many classes (or traces have no frames), the class's own hash finds it.
        let is_crowded = count == 0
            || self
                .sites
                .get(&trace)
                .is_some_and(|sites| sites.len() >= CROWD);
        let mut key = trace;
        if is_crowded {
            let identity = shared.env.identity_hash(class).unwrap_or(0);
            key = self.hasher.hash_one((trace, identity));
            if let Some(site) = self.cached(key, jni, class) {
                return site;
            }
        }
        let (site, class) = self.new_site(shared, jni, thread, class, count);
        self.sites
            .entry(key)
            .or_default()
            .extend(class.map(|class| CachedSite { class, site }));
        site
    }

    fn cached(&self, key: u64, jni: Jni<'_>, class: Object<'_>) -> Option<SiteId> {
        let cached = self
            .sites
            .get(&key)?
            .iter()
            .find(|cached| cached.class.is(jni, class))?;
        Some(cached.site)
    }

    /// The site of an allocation that this thread has not seen yet, and a reference to its class.
    fn new_site(
        &mut self,
        shared: &Shared,
        jni: Jni<'_>,
        thread: Object<'_>,
        class: Object<'_>,
        count: usize,
    ) -> (SiteId, Option<Arc<Weak>>) {
        let trace = match count {
            0 => TraceId::EMPTY,
            _ => {
                let serial = self.serial(shared, thread);
                shared.stacks.trace(jni, serial, &self.frames[..count])
            }
        };
        // The event holds the class, so naming it fails only when the VM is out of memory.
        let (class, reference) = shared
            .stacks
            .class_and_reference(jni, class)
            .unwrap_or_else(|_| (shared.stacks.unknown_class(), None));
        (
            shared.tables.sites.intern(SiteKey { class, trace }),
            reference,
        )
    }

    /// The number of the platform thread that this is.
    fn serial(&mut self, shared: &Shared, thread: Object<'_>) -> ThreadSerial {
        if let Some(serial) = self.serial {
            return serial;
        }
        let mark = shared
            .env
            .thread_mark(Some(thread))
            .ok()
            .filter(|&mark| mark != 0);
        let serial = mark
            .and_then(|mark| u32::try_from(mark).ok())
            .map(ThreadSerial);
        self.serial = serial;
        serial.unwrap_or(ThreadSerial::UNKNOWN)
    }
}
