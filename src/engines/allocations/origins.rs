//! Where and when the tracked objects were made, for heap dumps.

use hprof_format::BirthsHead;

use super::state::TrackerState;
use super::tracker::AllocationTracker;
use jvmti::WeakObject;
use names::trace::TraceId;

/// The birth of a tracked object, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The trace that allocated it.
    pub trace: TraceId,
    /// The moment in which it was made.
    pub moment: u32,
    /// A number that no other living object of the profile has.
    pub identity: u64,
}

impl AllocationTracker {
    /// Calls `look` with each tracked object that is alive and what is known about its birth; one may have died
    /// meanwhile. `look` must not allocate or track objects. Returns the first moment of objects that are
    /// made after this.
    pub fn for_each_tracked(&self, look: &mut dyn FnMut(WeakObject<'_>, Origin)) -> u32 {
        let TrackerState { live, sites, .. } = &*self.shared;
        live.for_each(&mut |object, kind, birth| {
            let origin = Origin {
                trace: sites.key(kind.site()).trace,
                moment: birth.tick,
                identity: object.identity(),
            };
            look(object.weak_object(), origin);
        })
    }

    /// Returns what a file of births begins with, but for the dump that it belongs to: its objects were listed when the
    /// moment `next` began. `None` if the agent does not keep births.
    pub fn births(&self, next: u32) -> Option<BirthsHead> {
        let live = &self.shared.live;
        live.clock().is_running().then(|| live.births(next))
    }
}
