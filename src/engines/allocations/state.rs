//! The state that allocation events, the sweeper and reports share.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::budget::{Costs, EstimateErrors, Steps};
use super::buffer_flags::BufferFlags;
use super::cache::TrackedThreads;
use super::counts::{AllThreadsCounts, Compilers};
use super::late_attach::LateStart;
use super::liveness::{LiveObjects, Sweep};
use super::sites::Sites;
use crate::engines::worker::Worker;
use jvmti::{Env, Jni, RegisteredThreads, SessionId, WeakSlots};
use names::Tables;
use stacks::{Stacks, TopFrames};

/// The interval at which the sweeper runs when no collection wakes it, and at which it looks for unloaded classes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which it runs while the profile is young, so that it knows births more precisely.
const MOMENT: Duration = Duration::from_millis(100);
/// The age at which a profile is no longer young.
const YOUNG: Duration = Duration::from_secs(60);

/// The longest that the sweeper waits for threads in an allocation event, all together.
const SHORT_WAIT: Duration = Duration::from_millis(20);

/// The state that the events and the sweeper share.
pub(super) struct TrackerState {
    pub(super) env: Env,
    pub(super) registered: Arc<RegisteredThreads>,
    pub(super) tables: Arc<Tables>,
    pub(super) sites: Sites,
    pub(super) stacks: Arc<Stacks>,
    pub(super) top_frames: Arc<TopFrames>,
    pub(super) steps: Steps,
    pub(super) errors: EstimateErrors,
    /// `budget=`: what tracking costs; `None` if it may cost anything.
    pub(super) costs: Option<Costs>,
    pub(super) live: LiveObjects,
    /// Not set while it is unknown; `None` inside if the VM has to be asked what a reference refers to.
    pub(super) slots: OnceLock<Option<WeakSlots>>,
    /// `Some` if the VM was up before the tracker.
    pub(super) late: Option<LateStart>,
    /// JDK 11: the flags that are changed for the duration of the profile.
    pub(super) buffer_flags: BufferFlags,
    /// The compilers of a VM whose program counts.
    pub(super) compilers: Compilers,
    /// The program's counts of all threads.
    pub(super) all_threads_counts: AllThreadsCounts,
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
        if let Some(costs) = &self.costs {
            costs.current_thread_sweeps();
        }
        let mut next_class_sweep = Instant::now() + SWEEP_INTERVAL;
        let began = Instant::now();
        let interval = || match self.live.clock().is_running() && began.elapsed() < YOUNG {
            true => MOMENT,
            false => SWEEP_INTERVAL,
        };
        while worker.sleep_until(Instant::now() + interval()) {
            self.sweep(jni);
            if Instant::now() >= next_class_sweep {
                self.stacks.sweep(jni);
                next_class_sweep = Instant::now() + SWEEP_INTERVAL;
            }
        }
    }

    fn sweep(&self, jni: Jni<'_>) {
        self.live.add(self.threads.take_ended());
        if self.live.clock().is_running() {
            self.live.tick();
            // An object is known to have died before a collection only if it is looked at after it.
            if self.live.is_due() {
                self.live.add(self.threads.take_objects_within(SHORT_WAIT));
            }
        }
        if self.live.is_overfull() {
            // Only a collection can tell which of the piled-up objects are garbage.
            let collect = || {
                let _ = self.env.force_garbage_collection();
            };
            match &self.costs {
                Some(costs) => costs.forcing(collect),
                None => collect(),
            }
        }
        self.live.sweep(self.look(jni));
    }

    /// Counts what was allocated since the last sweep at its sites, unless others examine the objects: the next call does it
    /// then.
    pub(super) fn count_recent(&self, jni: Jni<'_>) {
        self.live.add(self.threads.take_ended());
        self.live.add(self.threads.take_objects_within(SHORT_WAIT));
        self.live.count(self.look(jni), SHORT_WAIT);
    }

    pub(super) fn slots(&self) -> Option<WeakSlots> {
        self.slots.get().copied().flatten()
    }

    /// Returns a sweep over all objects, including the threads' most recent ones.
    pub(super) fn look_at_all<'a>(&'a self, jni: Jni<'a>) -> Sweep<'a> {
        self.live.add(self.threads.take_objects());
        self.look(jni)
    }

    pub(super) fn look<'a>(&'a self, jni: Jni<'a>) -> Sweep<'a> {
        Sweep::new(
            Some(jni),
            self.slots(),
            &self.sites,
            &self.steps,
            &self.errors,
            self.live.clock(),
        )
    }
}
