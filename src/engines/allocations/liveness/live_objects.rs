//! The tracked objects, and which of them are alive.
//!
//! New objects are in the nursery of the thread that allocated them. A full chunk goes to the sweeper, which examines
//! it after the next collection: all of its objects are counted at their sites as allocated; dead ones are counted as
//! dead and forgotten, the others move to the old generation. The old generation is examined each time it has doubled,
//! so each object is examined only a few times in its life, however many there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::super::sites::SiteId;
use super::sweep::{Counted, Sweep, Tracked};
use crate::engines::worker::Worker;
use crate::jvmti::{Jni, Object};
use crate::lock_order::{Mutex, rank};
use crate::memory;

/// Objects in one chunk.
const CHUNK: usize = 256;
/// Objects in one block of the old generation.
const BLOCK: usize = 16 * 1024;
/// The number of objects that may pile up without a collection before one is forced; if more objects than that are old,
/// their number. 2 million objects take 50 MB, here and in the VM.
const PILE: usize = 2_000_000;
/// The multiple of the limit at which allocating threads have to wait for the sweeper.
const TOO_MUCH: usize = 4;
/// The longest that a thread waits before it goes on with its next chunk anyway.
const LONGEST_WAIT_MILLIS: u32 = 100;

pub(in super::super) type Chunk = Vec<Tracked>;

/// The objects that one thread allocated most recently.
#[derive(Default)]
pub(in super::super) struct Nursery(Chunk);

/// All tracked objects.
///
/// The VM may be called while `old` is held, but never while `full` is.
pub(in super::super) struct LiveObjects {
    full: Mutex<Vec<Chunk>, rank::PiledObjects>,
    /// The number of objects in `full`.
    piled: AtomicUsize,
    /// The most objects that may pile up.
    limit: AtomicUsize,
    collected: AtomicBool,
    old: Mutex<Old, rank::OldObjects>,
    sweeper: Worker,
}

#[derive(Default)]
struct Old {
    objects: Blocks,
    /// Chunks from the pile that have been counted at their sites but not examined.
    counted: Vec<Chunk>,
    /// The number of objects after the last examination.
    looked_at: usize,
}

impl Nursery {
    /// Adds an object that was just allocated; its site counts it later. Returns the chunk if it is now full.
    #[inline]
    pub(in super::super) fn add(&mut self, tracked: Tracked) -> Option<Chunk> {
        if self.0.capacity() == 0 {
            self.0.reserve_exact(CHUNK);
        }
        self.0.push(tracked);
        (self.0.len() == CHUNK).then(|| std::mem::replace(&mut self.0, Vec::with_capacity(CHUNK)))
    }

    /// Removes and returns all objects.
    pub(in super::super) fn take(&mut self) -> Chunk {
        std::mem::take(&mut self.0)
    }
}

impl LiveObjects {
    pub(in super::super) fn new(sweeper: Worker) -> Self {
        Self {
            full: Mutex::default(),
            piled: AtomicUsize::new(0),
            limit: AtomicUsize::new(PILE),
            collected: AtomicBool::new(false),
            old: Mutex::default(),
            sweeper,
        }
    }

    /// Adds chunks from a nursery to the pile.
    pub(in super::super) fn add(&self, chunks: Vec<Chunk>) {
        let objects = chunks.iter().map(Vec::len).sum();
        self.piled.fetch_add(objects, Ordering::Relaxed);
        let mut full = self.full.lock();
        memory::need_to_grow(
            full.len() + chunks.len(),
            full.capacity(),
            size_of::<Chunk>(),
        );
        full.extend(chunks);
    }

    /// As [`LiveObjects::add`], on the thread that allocated the objects, which may have to wait.
    pub(in super::super) fn pile_up(&self, full: Chunk) {
        // Counted before anybody can take it, so that the number never falls below zero.
        let piled = self.piled.fetch_add(CHUNK, Ordering::Relaxed) + CHUNK;
        {
            let mut all = self.full.lock();
            memory::need_to_grow(all.len(), all.capacity(), size_of::<Chunk>());
            all.push(full);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        if piled >= limit && piled - limit < CHUNK {
            self.sweeper.wake();
        }
        if piled >= TOO_MUCH * limit {
            self.wait_for_the_sweeper();
        }
    }

    /// Waits for the sweeper. Many threads can allocate objects faster than one can examine them, and only slowing them
    /// down bounds the memory. A thread waits in native code, so collections go on.
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

    /// Notes that a collection is over.
    pub(in super::super) fn collected(&self) {
        self.collected.store(true, Ordering::Relaxed);
        self.sweeper.wake();
    }

    /// Returns `true` if so much has piled up since the last collection that the next one must be forced.
    pub(in super::super) fn is_overfull(&self) -> bool {
        !self.collected.load(Ordering::Relaxed)
            && self.piled.load(Ordering::Relaxed) >= self.limit.load(Ordering::Relaxed)
    }

    /// Examines the objects that are due, if there was a collection.
    pub(in super::super) fn sweep(&self, mut sweep: Sweep<'_>) {
        if self.collected.swap(false, Ordering::Relaxed) {
            let mut old = self.old.lock();
            self.sweep_young(&mut old, &mut sweep);
            if old.objects.len() >= (2 * old.looked_at).max(PILE) {
                old.sweep(&mut sweep);
            }
            sweep.finish();
        }
    }

    /// Examines all objects.
    pub(in super::super) fn sweep_all(&self, mut sweep: Sweep<'_>) {
        let mut old = self.old.lock();
        old.sweep(&mut sweep);
        self.sweep_young(&mut old, &mut sweep);
        sweep.finish();
    }

    /// As [`LiveObjects::sweep_all`]; if others hold the old generation for longer than `timeout`, only the most
    /// recent objects are counted.
    pub(in super::super) fn sweep_all_within(&self, mut sweep: Sweep<'_>, timeout: Duration) {
        match self.old.try_lock_for(timeout) {
            Some(mut old) => {
                old.sweep(&mut sweep);
                self.sweep_young(&mut old, &mut sweep);
            }
            None => {
                for tracked in self.full.lock().iter().flatten() {
                    sweep.count(tracked);
                }
            }
        }
        sweep.finish();
    }

    /// Counts all objects allocated so far at their sites.
    pub(in super::super) fn count(&self, mut sweep: Sweep<'_>) {
        let mut old = self.old.lock();
        let new = std::mem::take(&mut *self.full.lock());
        for tracked in new.iter().flatten() {
            sweep.count(tracked);
        }
        memory::need_to_grow(
            old.counted.len() + new.len(),
            old.counted.capacity(),
            size_of::<Chunk>(),
        );
        old.counted.extend(new);
        sweep.finish();
    }

    /// Forgets all objects and frees the references to them.
    pub(in super::super) fn give_back(&self, jni: Jni<'_>) {
        let mut old = self.old.lock();
        let young = std::mem::take(&mut *self.full.lock());
        let Old {
            objects, counted, ..
        } = std::mem::take(&mut *old);
        for tracked in young.into_iter().chain(counted).chain(objects.0).flatten() {
            tracked.object.delete(jni);
        }
    }

    /// Returns the number of objects at the last complete examination.
    pub(in super::super) fn len(&self) -> usize {
        self.old.lock().objects.len()
    }

    /// Calls `look` with each object that was alive at the last complete examination.
    pub(in super::super) fn for_each(&self, look: &mut dyn FnMut(Object<'_>, SiteId)) {
        for block in &self.old.lock().objects.0 {
            for tracked in block {
                look(tracked.object.object(), tracked.site);
            }
        }
    }

    /// Forgets all objects, so that the sites count from zero. An object that is being allocated right now may still be
    /// counted.
    pub(in super::super) fn clear(&self, mut sweep: Sweep<'_>) {
        let mut old = self.old.lock();
        for (chunk, counted) in self.take_young(std::mem::take(&mut old.counted)) {
            for tracked in chunk {
                if counted == Counted::No {
                    sweep.count(&tracked);
                }
                sweep.forget(tracked);
            }
        }
        let objects = std::mem::take(&mut old.objects).0;
        for tracked in objects.into_iter().flatten() {
            sweep.forget(tracked);
        }
        old.looked_at = 0;
        for (_, site) in sweep.finish().iter() {
            site.forget_dead();
        }
    }

    /// Takes the pile, chunk by chunk, those already counted at their sites first.
    fn take_young(&self, counted: Vec<Chunk>) -> impl Iterator<Item = (Chunk, Counted)> {
        let new = std::mem::take(&mut *self.full.lock());
        let counted = counted.into_iter().map(|chunk| (chunk, Counted::Yes));
        let chunks = counted.chain(new.into_iter().map(|chunk| (chunk, Counted::No)));
        chunks.inspect(|(chunk, _)| {
            self.piled.fetch_sub(chunk.len(), Ordering::Relaxed);
        })
    }

    fn sweep_young(&self, old: &mut Old, sweep: &mut Sweep<'_>) {
        for (chunk, counted) in self.take_young(std::mem::take(&mut old.counted)) {
            sweep.look(chunk, counted, |living| old.objects.push(living));
        }
        self.limit
            .store(old.objects.len().max(PILE), Ordering::Relaxed);
    }
}

impl Old {
    fn sweep(&mut self, sweep: &mut Sweep<'_>) {
        for block in std::mem::take(&mut self.objects).0 {
            sweep.look(block, Counted::Yes, |living| self.objects.push(living));
        }
        self.looked_at = self.objects.len();
    }
}

/// Objects in blocks of one size, so that growing moves nothing.
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
                memory::need_to_grow(self.0.len(), self.0.capacity(), size_of::<Vec<Tracked>>());
                memory::need(BLOCK * size_of::<Tracked>());
                let mut block = Vec::with_capacity(BLOCK);
                block.push(tracked);
                self.0.push(block);
            }
        }
    }
}
