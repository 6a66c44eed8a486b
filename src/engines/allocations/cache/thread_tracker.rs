//! The state that a thread keeps for one session.

use std::sync::Arc;

use super::super::budget::{EventCosts, Uncertainty};
use super::super::counts::ThreadCounts;
use super::super::liveness::{Chunk, Kind, Nursery, Tracked};
use super::super::state::TrackerState;
use super::site_cache::{AllocationEvent, CurrentStack, SiteCache};
use super::tracked_threads::KeepsObjects;
use jvmti::ObjectRef;

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

    /// Records an allocation of the current thread. Returns the thread's recent objects if there are enough of them for the
    /// sweeper.
    #[inline]
    pub(super) fn add_object(
        &mut self,
        stack: CurrentStack<'_>,
        event: AllocationEvent<'_>,
    ) -> Option<Chunk> {
        let Self {
            state,
            recorder,
            costs,
        } = self;
        let record = || recorder.record(state, stack, event);
        match &state.costs {
            None => record(),
            Some(all) => {
                let weight = state.steps.weight(event.step);
                let weight = weight.weight(event.allocation.size);
                costs.measure(all, event.step, weight, record)
            }
        }
    }
}

impl Recorder {
    #[inline]
    fn record(
        &mut self,
        state: &TrackerState,
        stack: CurrentStack<'_>,
        event: AllocationEvent<'_>,
    ) -> Option<Chunk> {
        let Self {
            cache,
            nursery,
            counts,
        } = self;
        let AllocationEvent {
            jni,
            allocation,
            step,
        } = event;
        let size = allocation.size;
        let has_identity = allocation.object.is_some();
        let lookup = cache.look_up(state, stack.top, event);
        let object = allocation
            .object
            .and_then(|object| ObjectRef::new(jni, object));
        let site = cache.site(state, lookup, stack, event);
        counts.add(site, size);
        let Some((object, kind)) = object.zip(Kind::new(site, step, size)) else {
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
        nursery.add(Tracked { object, kind }, state.live.clock().now())
    }
}

impl KeepsObjects for ThreadTracker {
    fn take_objects(&mut self) -> Chunk {
        self.recorder.nursery.take()
    }
}
