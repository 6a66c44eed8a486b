//! The state that a thread keeps for one session.

use std::sync::Arc;

use super::super::liveness::{Chunk, Nursery, Tracked};
use super::super::state::TrackerState;
use super::site_cache::SiteCache;
use super::tracked_threads::KeepsObjects;
use crate::jvmti::{Allocation, Jni, ObjectRef};
use crate::names::thread::ThreadSerial;
use crate::stacks::StackTop;

/// The sites that the thread knows, and the objects it allocated most recently.
pub(super) struct ThreadTracker {
    pub(super) state: Arc<TrackerState>,
    cache: SiteCache,
    nursery: Nursery,
}

impl ThreadTracker {
    pub(super) fn new(state: Arc<TrackerState>) -> Self {
        Self {
            cache: SiteCache::new(state.cached.clone()),
            nursery: Nursery::default(),
            state,
        }
    }

    /// Records an allocation of the current thread, whose stack and serial number are given. Returns the thread's
    /// recent objects if there are enough of them for the sweeper.
    #[inline]
    pub(super) fn add_object(
        &mut self,
        stack: &mut StackTop,
        serial: &mut Option<ThreadSerial>,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) -> Option<Chunk> {
        let Self {
            state,
            cache,
            nursery,
        } = self;
        let sought = cache.seek(state, stack, jni, allocation.class);
        let object = ObjectRef::new(jni, allocation.object);
        let site = cache.site(state, sought, stack, serial, jni, allocation);
        let Some(object) = object else {
            // It could not be seen to die.
            let weight = state.sample_weight.weight(allocation.size);
            state.sites.get(site).add_allocated(weight);
            return None;
        };
        nursery.add(Tracked::new(object, site, allocation.size))
    }
}

impl KeepsObjects for ThreadTracker {
    fn take_objects(&mut self) -> Chunk {
        self.nursery.take()
    }
}
