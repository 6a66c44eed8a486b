//! The clock of births: a number that changes with each collection and, between collections, every now and then.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::engines::gc::cannot_gc_at_vm_death;
use jvmti::{CollectionCount, Env, collection_is_under_way};

/// One collection in [`Clock::now`].
const ONE_COLLECTION: u64 = 1 << 32;

/// The moment in which an object was made. Moments are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in super::super) struct Birth {
    /// The number of collections that had begun since the profile did.
    pub(in super::super) collections: u32,
    /// The number of the last entry in [`super::Moments`].
    pub(in super::super) tick: u32,
}

/// The clock. One that was never started does not move.
#[derive(Default)]
pub(in super::super) struct Clock {
    /// The current [`Birth`]: the collections are the upper half.
    now: AtomicU64,
    counting: OnceLock<Counting>,
    /// The VM's count at the last collection.
    counted: AtomicU32,
}

/// The way in which collections are counted.
enum Counting {
    /// At the end of the pause in which a collection is done, if the VM's count has changed. In a VM that has none, each
    /// pause is taken for a collection.
    Pauses(Option<CollectionCount>),
    /// When objects are found dead: a collection while the program runs has several pauses, and those of one
    /// generation alone free none of the objects.
    Deaths,
}

impl Clock {
    /// Starts the clock. The VM must be initialized.
    pub(in super::super) fn start(&self, env: Env) {
        let _ = self.counting.set(match cannot_gc_at_vm_death(env) {
            // These collectors work while the program runs.
            true => Counting::Deaths,
            false => {
                let count = CollectionCount::find(env);
                let counted = count.map_or(0, CollectionCount::get);
                self.counted.store(counted, Ordering::Relaxed);
                Counting::Pauses(count)
            }
        });
    }

    pub(in super::super) fn is_running(&self) -> bool {
        self.counting.get().is_some()
    }

    /// Returns the current moment.
    #[inline]
    pub(in super::super) fn now(&self) -> Birth {
        let now = self.now.load(Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        Birth {
            collections: (now >> 32) as u32,
            tick: now as u32,
        }
    }

    /// Begins a new moment. Called by one thread at a time.
    pub(in super::super) fn tick(&self) {
        self.now.fetch_add(1, Ordering::Release);
    }

    /// Called at the end of each pause for a collection, while the program is stopped.
    pub(in super::super) fn pause_ended(&self) {
        let Some(Counting::Pauses(count)) = self.counting.get() else {
            return;
        };
        // One collection may contain another.
        if collection_is_under_way() {
            return;
        }
        let is_new = count.is_none_or(|count| {
            let counted = count.get();
            self.counted.swap(counted, Ordering::Relaxed) != counted
        });
        if is_new {
            self.now.fetch_add(ONE_COLLECTION, Ordering::Release);
        }
    }

    /// Returns the number of collections that may have removed an object that is found dead now.
    pub(in super::super) fn begun(&self) -> u32 {
        let is_under_way = match self.counting.get() {
            // Read first: a collection that ends in between is counted below.
            Some(Counting::Pauses(_)) => collection_is_under_way(),
            Some(Counting::Deaths) => true,
            None => false,
        };
        self.ended() + u32::from(is_under_way)
    }

    /// Returns the number of collections that an object has survived, from the beginning of the profile, if it is found
    /// alive after this call.
    pub(in super::super) fn ended(&self) -> u32 {
        self.now().collections
    }

    /// Returns `true` if so many collections have not been counted yet, and are not counted otherwise.
    pub(in super::super) fn is_new(&self, collections: u32) -> bool {
        let counts = matches!(self.counting.get(), Some(Counting::Deaths));
        counts && collections > self.ended()
    }

    /// Notes that so many collections have ended, unless they are counted otherwise.
    pub(in super::super) fn have_ended(&self, collections: u32) {
        if self.is_new(collections) {
            self.raise(collections);
        }
    }

    /// Notes the end of a collection that the agent has forced, before which there were so many. It is counted at its end,
    /// except while the VM ends.
    pub(in super::super) fn forced(&self, before: u32) {
        if let Some(Counting::Pauses(_)) = self.counting.get() {
            self.raise(before + 1);
        }
    }

    fn raise(&self, collections: u32) {
        let least = u64::from(collections) * ONE_COLLECTION;
        let more = |now: u64| (now < least).then_some(least + now % ONE_COLLECTION);
        let _ = self
            .now
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_lasts_until_the_next_tick_or_collection() {
        let clock = Clock::default();
        let first = clock.now();
        clock.tick();
        let second = clock.now();
        clock.now.fetch_add(ONE_COLLECTION, Ordering::Release);
        let third = clock.now();
        assert!(first < second && second < third);
        assert_eq!((third.collections, third.tick), (1, 1));
    }

    #[test]
    fn a_concurrent_collection_is_counted_once_something_has_died() {
        let clock = Clock::default();
        let _ = clock.counting.set(Counting::Deaths);
        clock.pause_ended();
        assert_eq!((clock.begun(), clock.ended()), (1, 0));
        clock.tick();
        assert!(clock.is_new(1));
        clock.have_ended(1);
        assert!(!clock.is_new(1));
        assert_eq!((clock.begun(), clock.ended()), (2, 1));
        assert_eq!(clock.now().tick, 1);
    }
}
