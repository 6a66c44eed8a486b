//! The state that allocation events, the sweeper and reports share.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::buffer_flags::BufferFlags;
use super::cache::TrackedThreads;
use super::late_attach::LateStart;
use super::liveness::{LiveObjects, Sweep};
use super::sample_weight::SampleWeight;
use super::sites::Sites;
use crate::engines::worker::Worker;
use crate::jvmti::{Env, Jni, RegisteredThreads, SessionId, WeakSlots};
use crate::names::Tables;
use crate::stacks::{Stacks, TopFrames};

/// The interval at which the sweeper runs when no collection wakes it, and at which it looks for unloaded classes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The state that the events and the sweeper share.
pub(super) struct TrackerState {
    pub(super) env: Env,
    pub(super) registered: Arc<RegisteredThreads>,
    pub(super) tables: Arc<Tables>,
    pub(super) sites: Sites,
    pub(super) stacks: Arc<Stacks>,
    pub(super) top_frames: Arc<TopFrames>,
    pub(super) sample_weight: SampleWeight,
    pub(super) live: LiveObjects,
    /// Not set while it is unknown; `None` inside if the VM has to be asked what a reference refers to.
    pub(super) slots: OnceLock<Option<WeakSlots>>,
    /// `Some` if the VM was up before the tracker.
    pub(super) late: Option<LateStart>,
    /// JDK 11: the flags that are changed for the duration of the profile.
    pub(super) buffer_flags: BufferFlags,
    /// The session, because threads outlive sessions and may keep caches of an earlier one.
    pub(super) session: SessionId,
    /// The threads, which keep the tracker alive until it ends.
    pub(super) threads: TrackedThreads,
    /// Set when tracking has ended, also for a thread that could not be waited for.
    pub(super) has_ended: AtomicBool,
    /// The number of entries in the caches of all threads.
    pub(super) cached: Arc<AtomicUsize>,
}

impl TrackerState {
    /// Runs the sweeper: examines objects after every collection, and looks for unloaded classes less often.
    pub(super) fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut next_class_sweep = Instant::now() + SWEEP_INTERVAL;
        while worker.sleep_until(Instant::now() + SWEEP_INTERVAL) {
            self.sweep(jni);
            if Instant::now() >= next_class_sweep {
                self.stacks.sweep(jni);
                next_class_sweep = Instant::now() + SWEEP_INTERVAL;
            }
        }
    }

    fn sweep(&self, jni: Jni<'_>) {
        self.live.add(self.threads.take_ended());
        if self.live.is_overfull() {
            // Only a collection can tell which of the piled-up objects are garbage.
            let _ = self.env.force_garbage_collection();
        }
        self.live.sweep(self.look(jni));
    }

    pub(super) fn slots(&self) -> Option<WeakSlots> {
        self.slots.get().copied().flatten()
    }

    /// Returns a sweep over all objects, including the threads' most recent ones.
    pub(super) fn look_at_all<'a>(&'a self, jni: Jni<'a>) -> Sweep<'a> {
        self.live.add(self.threads.take_objects());
        self.look(jni)
    }

    fn look<'a>(&'a self, jni: Jni<'a>) -> Sweep<'a> {
        Sweep::new(Some(jni), self.slots(), &self.sites, self.sample_weight)
    }
}
