//! Which of the tracked objects are alive.
//!
//! New objects lie in the nursery of the thread that made them. A full chunk goes to the sweeper, which looks at it after
//! the next collection: what has died is counted and forgotten, what has not moves to the old generation. That one is
//! looked at when as much has come to it as it held after the last look, so each object is looked at a few times in its
//! life, however many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::sample_weight::SampleWeight;
use super::sites::{SiteId, Sites};
use crate::engines::worker::Worker;
use crate::jvmti::{Allocation, Jni, Object, ObjectRef};

/// Objects in one chunk.
const CHUNK: usize = 256;
/// Objects in one block of the old generation.
const BLOCK: usize = 16 * 1024;
/// Objects that may pile up without a collection, at least; beyond that as many as are old. 2 M are 50 MB, here and in
/// the VM.
const PILE: usize = 2_000_000;
/// At this many times the limit, threads that make objects wait for the sweeper.
const TOO_MUCH: usize = 4;
/// How long one waits before it goes on with its next chunk all the same.
const LONGEST_WAIT_MILLIS: u32 = 100;

/// A tracked object: 16 bytes, and a word in the VM.
struct Tracked {
    object: ObjectRef,
    site: SiteId,
    /// Its size in words of 8 bytes: objects are aligned to that, and the largest array has 2^31 elements of 8 bytes.
    words: u32,
}

const _: () = assert!(size_of::<Tracked>() == 16);

type Chunk = Vec<Tracked>;

/// The objects that one thread made last.
#[derive(Default)]
pub(super) struct Nursery(Mutex<Chunk>);

/// All tracked objects.
///
/// Lock order: `old`, `nurseries`, a nursery, `full`. The VM is called with `old` held, never with the others.
pub(super) struct LiveObjects {
    nurseries: Mutex<Vec<Arc<Nursery>>>,
    full: Mutex<Vec<Chunk>>,
    /// Objects in `full`.
    piled: AtomicUsize,
    /// How high the pile may get.
    limit: AtomicUsize,
    collected: AtomicBool,
    old: Mutex<Old>,
    sweeper: Worker,
}

#[derive(Default)]
struct Old {
    objects: Blocks,
    /// How many there were after the last look.
    looked_at: usize,
}

impl LiveObjects {
    pub(super) fn new(sweeper: Worker) -> Self {
        Self {
            nurseries: Mutex::default(),
            full: Mutex::default(),
            piled: AtomicUsize::new(0),
            limit: AtomicUsize::new(PILE),
            collected: AtomicBool::new(false),
            old: Mutex::default(),
            sweeper,
        }
    }

    pub(super) fn new_nursery(&self) -> Arc<Nursery> {
        let nursery = Arc::new(Nursery::default());
        self.nurseries.lock().push(nursery.clone());
        nursery
    }

    /// Remembers an object that was just made.
    pub(super) fn add(
        &self,
        nursery: &Nursery,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
        site: SiteId,
    ) {
        // Without memory for a reference the object counts as alive for good.
        let Some(object) = ObjectRef::new(jni, allocation.object) else {
            return;
        };
        let words = u32::try_from(allocation.size / 8).unwrap_or(u32::MAX);
        let mut chunk = nursery.0.lock();
        if chunk.capacity() == 0 {
            chunk.reserve_exact(CHUNK);
        }
        chunk.push(Tracked {
            object,
            site,
            words,
        });
        if chunk.len() < CHUNK {
            return;
        }
        let full = std::mem::replace(&mut *chunk, Vec::with_capacity(CHUNK));
        drop(chunk);
        self.full.lock().push(full);
        let piled = self.piled.fetch_add(CHUNK, Ordering::Relaxed) + CHUNK;
        let limit = self.limit.load(Ordering::Relaxed);
        if piled >= limit && piled - limit < CHUNK {
            self.sweeper.wake();
        }
        if piled >= TOO_MUCH * limit {
            self.wait_for_the_sweeper();
        }
    }

    /// Many threads can make objects faster than one can look at them. Slowing them down is what bounds the memory; a
    /// thread waits in native code, so collections go on.
    fn wait_for_the_sweeper(&self) {
        self.sweeper.wake();
        for _ in 0..LONGEST_WAIT_MILLIS {
            let limit = self.limit.load(Ordering::Relaxed);
            if self.piled.load(Ordering::Relaxed) < TOO_MUCH * limit {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// A collection is over.
    pub(super) fn collected(&self) {
        self.collected.store(true, Ordering::Relaxed);
        self.sweeper.wake();
    }

    /// Whether so much has piled up since the last collection that the next one should not be waited for.
    pub(super) fn is_overfull(&self) -> bool {
        !self.collected.load(Ordering::Relaxed)
            && self.piled.load(Ordering::Relaxed) >= self.limit.load(Ordering::Relaxed)
    }

    /// Looks at what is due since the last collection, if there was one.
    pub(super) fn sweep(&self, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        self.empty_nurseries(|is_abandoned| is_abandoned);
        if self.collected.swap(false, Ordering::Relaxed) {
            let mut old = self.old.lock();
            self.sweep_young(&mut old, jni, sites, sample_weight);
            if old.objects.len() >= (2 * old.looked_at).max(PILE) {
                self.sweep_old(&mut old, jni, sites, sample_weight);
            }
        }
    }

    /// Looks at everything.
    pub(super) fn sweep_all(&self, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        let mut old = self.old.lock();
        self.empty_nurseries(|_| true);
        self.sweep_old(&mut old, jni, sites, sample_weight);
        self.sweep_young(&mut old, jni, sites, sample_weight);
    }

    /// Forgets all objects, and gives the references to them back.
    pub(super) fn give_back(&self, jni: Jni<'_>) {
        let mut old = self.old.lock();
        self.empty_nurseries(|_| true);
        self.nurseries.lock().clear();
        let young = std::mem::take(&mut *self.full.lock());
        let blocks = std::mem::take(&mut old.objects).0;
        for tracked in young.into_iter().chain(blocks).flatten() {
            tracked.object.delete(jni);
        }
    }

    /// How many there were when everything was last looked at.
    pub(super) fn len(&self) -> usize {
        self.old.lock().objects.len()
    }

    /// Shows each object that was alive when everything was last looked at.
    pub(super) fn for_each(&self, look: &mut dyn FnMut(Object<'_>, SiteId)) {
        for block in &self.old.lock().objects.0 {
            for tracked in block {
                look(tracked.object.object(), tracked.site);
            }
        }
    }

    /// Forgets all objects; the sites count from nothing. One that is being made right now may still be counted.
    pub(super) fn clear(&self, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        let mut old = self.old.lock();
        self.empty_nurseries(|_| true);
        let young = std::mem::take(&mut *self.full.lock());
        let piled = young.iter().map(Vec::len).sum();
        self.piled.fetch_sub(piled, Ordering::Relaxed);
        let objects = std::mem::take(&mut old.objects).0;
        for tracked in young.into_iter().chain(objects).flatten() {
            tracked.forget(jni, sites, sample_weight);
        }
        old.looked_at = 0;
        for (_, site) in sites.iter() {
            site.forget_dead();
        }
    }

    /// Moves what is in the nurseries to the pile, and forgets those whose thread has ended. `wanted` is told whether
    /// it has.
    fn empty_nurseries(&self, wanted: impl Fn(bool) -> bool) {
        self.nurseries.lock().retain(|nursery| {
            // The other owner is the thread: when it has ended, nothing comes any more.
            let is_abandoned = Arc::strong_count(nursery) == 1;
            if wanted(is_abandoned) {
                let chunk = std::mem::take(&mut *nursery.0.lock());
                self.piled.fetch_add(chunk.len(), Ordering::Relaxed);
                self.full.lock().push(chunk);
            }
            !is_abandoned
        });
    }

    fn sweep_young(&self, old: &mut Old, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        let young = std::mem::take(&mut *self.full.lock());
        for chunk in young {
            self.piled.fetch_sub(chunk.len(), Ordering::Relaxed);
            for tracked in chunk {
                tracked.look(jni, sites, sample_weight, &mut old.objects);
            }
        }
        self.limit
            .store(old.objects.len().max(PILE), Ordering::Relaxed);
    }

    fn sweep_old(&self, old: &mut Old, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        for block in std::mem::take(&mut old.objects).0 {
            for tracked in block {
                tracked.look(jni, sites, sample_weight, &mut old.objects);
            }
        }
        old.looked_at = old.objects.len();
    }
}

impl Tracked {
    /// Forgets the object if it has died, keeps it otherwise.
    fn look(self, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight, living: &mut Blocks) {
        if self.object.is_dead(jni) {
            self.forget(jni, sites, sample_weight);
        } else {
            living.push(self);
        }
    }

    /// Counts the object as dead.
    fn forget(self, jni: Jni<'_>, sites: &Sites, sample_weight: SampleWeight) {
        sites
            .get(self.site)
            .add_dead(sample_weight.weight(u64::from(self.words) * 8));
        self.object.delete(jni);
    }
}

/// Objects in blocks of one size: growing moves nothing.
#[derive(Default)]
struct Blocks(Vec<Vec<Tracked>>);

impl Blocks {
    fn len(&self) -> usize {
        self.0
            .last()
            .map_or(0, |last| (self.0.len() - 1) * BLOCK + last.len())
    }

    fn push(&mut self, tracked: Tracked) {
        match self.0.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(tracked),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(tracked);
                self.0.push(block);
            }
        }
    }
}
