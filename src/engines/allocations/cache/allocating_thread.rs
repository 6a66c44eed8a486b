//! State that each thread keeps for itself, so that the common allocation takes only one lock, which nobody else
//! contends for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::super::budget::{EventCosts, Step, Uncertainty};
use super::super::counts::ThreadCounts;
use super::super::liveness::{Chunk, Kind, Nursery, Tracked};
use super::super::state::TrackerState;
use super::site_cache::{AllocationEvent, CurrentStack, SiteCache};
use super::tracked_threads::{Kept, OwnLock};
use jvmti::{Allocation, Jni, ObjectRef, SessionId};
use memory::PerThread;
use names::thread::ThreadSerial;
use stacks::StackTop;

static LOCAL: PerThread<AllocatingThread> = PerThread::new();

/// The state of one system thread. A virtual thread uses that of its current carrier.
pub(in super::super) struct AllocatingThread {
    /// The session it belongs to, which may be an earlier one that is over.
    session: SessionId,
    serial: Option<ThreadSerial>,
    /// `true` while the thread's allocations are the agent's.
    is_muted: bool,
    /// The step at which the VM has drawn the thread's next event: that of its last one, or of its start.
    drawn: Step,
    tracker: Arc<OwnLock<Option<ThreadTracker>>>,
}

/// The part of it that belongs to one session, at whose end it is removed: what takes memory.
struct ThreadTracker {
    state: Arc<TrackerState>,
    stack: StackTop,
    recorder: Recorder,
    costs: EventCosts,
}

struct Recorder {
    cache: SiteCache,
    nursery: Nursery,
    /// The program's counts of this thread.
    counts: ThreadCounts,
}

impl AllocatingThread {
    /// Records an allocation of the current thread. Returns `false` if the thread has no state for a running session:
    /// an allocation within an allocation event, or on a thread that is being torn down, finds it taken.
    #[inline]
    pub(in super::super) fn track_current(jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let track = |local: &mut AllocatingThread| local.track(jni, allocation);
        LOCAL
            .with(|local| local.as_mut().is_some_and(track))
            .unwrap_or(false)
    }

    /// Runs `body` with the current thread's state, or with temporary state if that is taken.
    pub(in super::super) fn with(
        shared: &Arc<TrackerState>,
        body: impl FnOnce(&mut AllocatingThread),
    ) {
        let mut body = Some(body);
        LOCAL.with(|local| {
            if let Some(body) = body.take() {
                local.take_if(|local| local.session != shared.session);
                body(local.get_or_insert_with(|| AllocatingThread::new(shared, Step::default())));
            }
        });
        if let Some(body) = body {
            body(&mut AllocatingThread::new(shared, shared.steps.current()));
        }
    }

    /// Runs `body` with the counts that have begun on the current thread; `None` if tracking has ended.
    pub(in super::super) fn counts<T>(
        shared: &Arc<TrackerState>,
        body: impl FnOnce(&mut ThreadCounts) -> T,
    ) -> Option<T> {
        let mut answer = None;
        Self::with(shared, |local| {
            let mut tracker = local.tracker.lock();
            answer = tracker.as_mut().map(|own| body(&mut own.recorder.counts));
        });
        answer
    }

    fn new(shared: &Arc<TrackerState>, drawn: Step) -> Self {
        // After the end nobody would remove it any more, and it would keep the whole tracker alive.
        let is_running = !shared.has_ended.load(Ordering::Relaxed);
        let tracker = is_running.then(|| ThreadTracker::new(shared.clone()));
        let tracker = Arc::new(OwnLock::new(tracker));
        if is_running {
            shared.threads.add(tracker.clone());
        }
        Self {
            session: shared.session,
            serial: None,
            is_muted: false,
            drawn,
            tracker,
        }
    }

    /// Called when the thread starts; it may have allocated already.
    pub(in super::super) fn start(&mut self, serial: ThreadSerial, current: Step) {
        self.serial = Some(serial);
        self.drawn = current;
    }

    pub(in super::super) fn set_muted(&mut self, is_muted: bool) {
        self.is_muted = is_muted;
    }

    /// Records an allocation of the thread; returns `false` if the session is over.
    #[inline]
    pub(in super::super) fn track(&mut self, jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let mut tracker = self.tracker.lock();
        let Some(own) = &mut *tracker else {
            return false;
        };
        if own.state.has_ended.load(Ordering::Relaxed) {
            *tracker = None;
            return false;
        }
        let drawn = std::mem::replace(&mut self.drawn, own.state.steps.current());
        if self.is_muted {
            return true;
        }
        let event = AllocationEvent {
            jni,
            allocation,
            step: drawn,
        };
        let full = own.add_object(&mut self.serial, event);
        if let Some(chunk) = full {
            let state = own.state.clone();
            // A thread that waits here for the sweeper must not make others wait.
            drop(tracker);
            match &state.costs {
                Some(costs) => costs.waiting(|| state.live.pile_up(chunk)),
                None => state.live.pile_up(chunk),
            }
        }
        true
    }
}

impl ThreadTracker {
    fn new(state: Arc<TrackerState>) -> Self {
        Self {
            recorder: Recorder {
                cache: SiteCache::new(state.cached.clone()),
                nursery: Nursery::default(),
                counts: ThreadCounts::default(),
            },
            stack: StackTop::default(),
            costs: EventCosts::default(),
            state,
        }
    }

    fn take_objects(&mut self) -> Chunk {
        self.recorder.nursery.take()
    }

    /// Records an allocation of the current thread. Returns the thread's recent objects if there are enough of them for the
    /// sweeper.
    #[inline]
    fn add_object(
        &mut self,
        serial: &mut Option<ThreadSerial>,
        event: AllocationEvent<'_>,
    ) -> Option<Chunk> {
        let Self {
            state,
            stack,
            recorder,
            costs,
        } = self;
        let stack = CurrentStack { top: stack, serial };
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

impl Kept for OwnLock<Option<ThreadTracker>> {
    fn take_objects(&self, end: Instant) -> Option<Chunk> {
        self.with_until(end, |state| state.as_mut().map(ThreadTracker::take_objects))
    }

    fn remove(&self, end: Instant) -> Option<Chunk> {
        // The state is dropped without the lock held, because that calls the VM.
        let state = self.with_until(end, Option::take);
        state.map(|mut state| state.take_objects())
    }
}
