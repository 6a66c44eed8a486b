//! Virtual threads that are parked for a lock. The VM does not list them, but its events tell when one leaves its carrier,
//! and when it comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jvmti::{Jni, LocalRef, Object, ParkBlockers, WeakRef};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};

/// The number of parts of the table, each with its own lock, so that threads seldom wait for each other.
const SHARDS: usize = 16;

/// The virtual threads that are parked for a lock.
#[derive(Default)]
pub(super) struct ParkedVirtualThreads {
    shards: [Shard; SHARDS],
    /// The number of them. While it is 0, a thread that comes back takes no lock.
    count: AtomicUsize,
}

/// The threads by their number.
#[derive(Default)]
struct Shard(Mutex<Map<i64, Arc<WeakRef>>, rank::ParkedVirtualThreads>);

impl ParkedVirtualThreads {
    /// Called on a virtual thread that is about to leave its carrier.
    pub(super) fn unmounted(&self, jni: Jni<'_>, blockers: &ParkBlockers, thread: Object<'_>) {
        if blockers.lock_wanted_by(jni, thread).is_none() {
            return;
        }
        let Some(reference) = WeakRef::new(jni, thread) else {
            return;
        };
        let reference = Arc::new(reference);
        let id = blockers.id(jni, thread);
        let before = self.shard(id).0.lock().insert(id, reference).or_stop();
        if before.is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Called on a virtual thread that has a carrier again.
    pub(super) fn mounted(&self, jni: Jni<'_>, blockers: &ParkBlockers, thread: Object<'_>) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let id = blockers.id(jni, thread);
        let gone = self.shard(id).0.lock().remove(&id);
        if gone.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Calls `take` with each of them that is alive, and forgets the others.
    pub(super) fn each<'j>(&self, jni: Jni<'j>, mut take: impl FnMut(LocalRef<'j>)) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        for shard in &self.shards {
            let all: List<(i64, Arc<WeakRef>)> = {
                let shard = shard.0.lock();
                let all = shard.iter();
                List::collect(all.map(|(&id, thread)| (id, thread.clone()))).or_stop()
            };
            let mut alive = List::with_capacity(all.len()).or_stop();
            for (id, thread) in &all {
                match thread.upgrade(jni) {
                    Some(thread) => alive.push(thread).or_stop(),
                    None => self.forget(shard, *id, thread),
                }
            }
            jni.announce_locals(alive.len());
            alive.into_iter().for_each(&mut take);
        }
    }

    /// Forgets a thread that was collected, unless another one has its id by now.
    fn forget(&self, shard: &Shard, id: i64, thread: &Arc<WeakRef>) {
        let mut shard = shard.0.lock();
        let known = shard.get(&id);
        if known.is_some_and(|known| Arc::ptr_eq(known, thread)) {
            // The caller frees the reference, after the lock.
            shard.remove(&id);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Forgets all of them.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let gone = std::mem::take(&mut *shard.0.lock());
            self.count.fetch_sub(gone.len(), Ordering::Relaxed);
        }
    }

    fn shard(&self, id: i64) -> &Shard {
        &self.shards[usize::try_from(id.unsigned_abs() % SHARDS as u64).unwrap_or(0)]
    }
}
