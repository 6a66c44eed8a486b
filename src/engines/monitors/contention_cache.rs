//! Finds the contention entry for the current stack and the class of the monitor, without a lock if the thread has seen
//! it before.

use std::hash::BuildHasher;
use std::sync::{Arc, Weak};
use std::time::Instant;

use foldhash::fast::FixedState;

use super::contentions::{ContentionId, ContentionKey};
use super::{MonitorWatch, SWEEP_INTERVAL};
use jvmti::{Jni, Object, SessionId, WeakRef};
use locks::{Mutex, rank};
use memory::{Map, OrStop, PerThread};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::{FramesMark, StackTop, TopFrames};

/// The most entries that one system thread remembers, 32 bytes each; a full cache is emptied.
const REMEMBERED: usize = 1_000;

static OWN: PerThread<OwnCache> = PerThread::new();

/// Finds contention entries.
pub(super) struct Contenders {
    top_frames: Arc<TopFrames>,
    /// A cache from another session has other ids.
    session: SessionId,
    /// The caches of threads that have not ended, and others: a thread does not take its cache out.
    caches: Mutex<Vec<Weak<KeptCache>>, rank::ContentionCaches>,
}

/// The cache of one system thread, shared by the virtual threads it carries.
struct OwnCache {
    session: SessionId,
    cache: Arc<KeptCache>,
}

/// `None` while the thread uses it, and after the session.
type KeptCache = Mutex<Option<ContentionCache>, rank::ContentionCache>;

#[derive(Default)]
struct ContentionCache {
    stack: StackTop,
    /// By the hash of the stack's key and class, and of the thread if traces are kept apart by it.
    places: Map<u64, Cached>,
}

struct Cached {
    class: Arc<WeakRef>,
    place: ContentionId,
    frames: FramesMark,
}

impl Contenders {
    pub(super) fn new(top_frames: Arc<TopFrames>, session: SessionId) -> Self {
        Self {
            top_frames,
            session,
            caches: Mutex::default(),
        }
    }

    pub(super) fn start(&self, jni: Jni<'_>) {
        self.top_frames.start(jni);
    }

    /// Frees the caches of all threads.
    pub(super) fn forget(&self) {
        let caches = std::mem::take(&mut *self.caches.lock());
        for cache in caches.iter().filter_map(Weak::upgrade) {
            // Dropped without the lock, because that calls the VM.
            let cache = cache.lock().take();
            drop(cache);
        }
    }

    /// Returns the current thread's cache; `None` if the thread is being destroyed.
    fn own(&self) -> Option<Arc<KeptCache>> {
        OWN.with(|own| {
            own.take_if(|own| own.session != self.session);
            let own = own.get_or_insert_with(|| OwnCache {
                session: self.session,
                cache: self.new_cache(),
            });
            own.cache.clone()
        })
    }

    fn new_cache(&self) -> Arc<KeptCache> {
        let cache = Arc::new(KeptCache::default());
        let mut caches = self.caches.lock();
        if caches.len() == caches.capacity() {
            caches.retain(|cache| cache.strong_count() > 0);
        }
        caches.push(Arc::downgrade(&cache));
        cache
    }
}

impl MonitorWatch {
    /// Returns the contention entry for the current thread's stack and the monitor's class; `None` if the VM is out of
    /// memory.
    pub(super) fn place(
        &self,
        jni: Jni<'_>,
        serial: ThreadSerial,
        monitor: Object<'_>,
    ) -> Option<ContentionId> {
        // A thread that is being destroyed has no cache any more, but its event still counts.
        let own = self.places.own();
        let mut cache = own
            .as_ref()
            .and_then(|own| own.lock().take())
            .unwrap_or_default();
        let place = cache.place(self, jni, serial, monitor);
        if let Some(own) = own {
            *own.lock() = Some(cache);
        }
        place
    }

    fn new_place(
        &self,
        jni: Jni<'_>,
        serial: ThreadSerial,
        stack: &mut StackTop,
        class: Object<'_>,
    ) -> (ContentionId, Option<Arc<WeakRef>>) {
        // Names are added only here, so those of unloaded classes are removed here.
        self.sweep_if_due(jni);
        let trace = match stack.is_empty() {
            true => TraceId::EMPTY,
            false => stack.trace(&self.stacks, jni, serial),
        };
        let (class, reference) = self
            .stacks
            .class_and_reference(jni, class)
            .unwrap_or_else(|_| (self.stacks.unknown_class(), None));
        let key = ContentionKey { trace, class };
        (self.contentions.intern(key), reference)
    }

    fn sweep_if_due(&self, jni: Jni<'_>) {
        let now = Instant::now();
        {
            let mut next = self.next_sweep.lock();
            if now < *next {
                return;
            }
            *next = now + SWEEP_INTERVAL;
        }
        self.stacks.sweep(jni);
    }
}

impl ContentionCache {
    fn place(
        &mut self,
        watch: &MonitorWatch,
        jni: Jni<'_>,
        serial: ThreadSerial,
        monitor: Object<'_>,
    ) -> Option<ContentionId> {
        let top_frames = &watch.places.top_frames;
        let class = jni.class_of(monitor)?;
        let class = class.object();
        let identity = watch.env.identity_hash(class).unwrap_or(0);
        let thread = watch.stacks.by_thread().then_some(serial);
        let key = |stack| FixedState::default().hash_one((stack, identity, thread));
        let found = |places: &Map<u64, Cached>, stack| {
            let cached = places.get(&key(stack))?;
            let is_same = cached.class.is(jni, class);
            is_same.then_some((cached.place, cached.frames))
        };
        let stack = self.stack.look(top_frames, jni, watch.stacks.depth());
        if let Some((place, frames)) = found(&self.places, stack)
            && self.stack.is(top_frames, || frames)
        {
            return Some(place);
        }
        let stack = self.stack.resolve(top_frames, &watch.stacks, jni);
        if let Some((place, _)) = found(&self.places, stack) {
            return Some(place);
        }
        let (place, reference) = watch.new_place(jni, serial, &mut self.stack, class);
        if let Some(class) = reference {
            if self.places.len() >= REMEMBERED {
                self.places.clear();
            }
            let frames = self.stack.mark();
            let cached = Cached {
                class,
                place,
                frames,
            };
            self.places.insert(key(stack), cached).or_stop();
        }
        Some(place)
    }
}
