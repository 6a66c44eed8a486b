//! Virtual threads that are parked for a lock. The VM does not list them, but its events tell when one leaves its carrier,
//! and when it comes back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;

use crate::jvmti::{Jni, LocalRef, Object, ParkBlockers, WeakRef};
use crate::lock_order::{Mutex, rank};
use crate::memory;

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
struct Shard(Mutex<HashMap<i64, WeakRef, FixedState>, rank::ParkedVirtualThreads>);

impl ParkedVirtualThreads {
    /// Called on a virtual thread that is about to leave its carrier.
    pub(super) fn unmounted(&self, jni: Jni<'_>, blockers: &ParkBlockers, thread: Object<'_>) {
        if blockers.lock_wanted_by(jni, thread).is_none() {
            return;
        }
        let Some(reference) = WeakRef::new(jni, thread) else {
            return;
        };
        let id = blockers.id(jni, thread);
        let mut shard = self.shard(id).0.lock();
        memory::need_to_hash(shard.len(), shard.capacity(), size_of::<(i64, WeakRef)>());
        let before = shard.insert(id, reference);
        drop(shard);
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
            let mut alive = Vec::new();
            let mut dead = Vec::new();
            {
                let mut shard = shard.0.lock();
                memory::need(shard.len() * size_of::<LocalRef<'_>>());
                for thread in shard.values() {
                    alive.extend(thread.get(jni));
                }
                if alive.len() < shard.len() {
                    let gone = shard.extract_if(|_, thread| thread.is_dead(jni));
                    dead.extend(gone.map(|(_, thread)| thread));
                }
            }
            self.count.fetch_sub(dead.len(), Ordering::Relaxed);
            // The references are freed, and the threads looked at, without the lock.
            drop(dead);
            jni.announce_locals(alive.len());
            alive.into_iter().for_each(&mut take);
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
