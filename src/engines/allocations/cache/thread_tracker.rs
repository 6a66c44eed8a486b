//! The state that a thread keeps for one session.

use std::sync::Arc;

use super::super::budget::{EventCosts, Step, Uncertainty};
use super::super::counts::ThreadCounts;
use super::super::liveness::{Chunk, Nursery, Tracked};
use super::super::state::TrackerState;
use super::site_cache::SiteCache;
use super::tracked_threads::KeepsObjects;
use jvmti::{Allocation, Jni, ObjectRef};
use names::thread::ThreadSerial;
use stacks::StackTop;

/// The sites that the thread knows, and the objects it allocated most recently.
pub(super) struct ThreadTracker {
    pub(super) state: Arc<TrackerState>,
    recorder: Recorder,
    costs: EventCosts,
}

struct Recorder {
    cache: SiteCache,
    nursery: Nursery,
    /// The program's counts of this thread.
    counts: ThreadCounts,
}

impl ThreadTracker {
    pub(super) fn new(state: Arc<TrackerState>) -> Self {
        Self {
            recorder: Recorder {
                cache: SiteCache::new(state.cached.clone()),
                nursery: Nursery::default(),
                counts: ThreadCounts::default(),
            },
            costs: EventCosts::default(),
            state,
        }
    }

    pub(super) fn counts(&mut self) -> &mut ThreadCounts {
        &mut self.recorder.counts
    }

    /// Records an allocation of the current thread, whose stack and serial number are given, and which the VM chose at
    /// that step. Returns the thread's recent objects if there are enough of them for the sweeper.
    #[inline]
    pub(super) fn add_object(
        &mut self,
        stack: &mut StackTop,
        serial: &mut Option<ThreadSerial>,
        step: Step,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) -> Option<Chunk> {
        let Self {
            state,
            recorder,
            costs,
        } = self;
        let mut record = || recorder.record(state, (stack, serial), step, jni, allocation);
        match &state.costs {
            None => record(),
            Some(all) => {
                let weight = state.steps.weight(step).weight(allocation.size);
                costs.measure(all, step, weight, record)
            }
        }
    }
}

impl Recorder {
    #[inline]
    fn record(
        &mut self,
        state: &TrackerState,
        (stack, serial): (&mut StackTop, &mut Option<ThreadSerial>),
        step: Step,
        jni: Jni<'_>,
        allocation: Allocation<'_>,
    ) -> Option<Chunk> {
        let Self {
            cache,
            nursery,
            counts,
        } = self;
        let size = allocation.size;
        let has_identity = allocation.object.is_some();
        let sought = cache.seek(state, stack, jni, allocation.class);
        let object = allocation
            .object
            .and_then(|object| ObjectRef::new(jni, object));
        let site = cache.site(state, sought, stack, serial, jni, allocation);
        counts.add(site, size);
        let tracked = object.and_then(|object| Tracked::new(object, site, step, size));
        let Some(tracked) = tracked else {
            // It could not be seen to die.
            let sample_weight = state.steps.weight(step);
            let site = state.sites.get(site);
            let weight = sample_weight.weight(size);
            if has_identity {
                site.add_allocated(weight);
            } else {
                site.add_without_identity(weight);
            }
            if let Some(made) = sample_weight.variance(size) {
                state.errors.add(Uncertainty {
                    made,
                    ..Uncertainty::default()
                });
            }
            return None;
        };
        nursery.add(tracked, state.live.clock().now())
    }
}

impl KeepsObjects for ThreadTracker {
    fn take_objects(&mut self) -> Chunk {
        self.recorder.nursery.take()
    }
}
