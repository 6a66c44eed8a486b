//! State that each thread keeps for itself, so that the common allocation takes only one lock, which nobody else
//! contends for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::budget::Step;
use super::super::counts::ThreadCounts;
use super::super::state::TrackerState;
use super::site_cache::{AllocationEvent, CurrentStack};
use super::thread_tracker::ThreadTracker;
use super::tracked_threads::OwnLock;
use jvmti::{Allocation, Jni, SessionId};
use memory::PerThread;
use names::thread::ThreadSerial;
use stacks::StackTop;

static LOCAL: PerThread<AllocatingThread> = PerThread::new();

/// The state of one system thread. A virtual thread uses that of its current carrier.
pub(in super::super) struct AllocatingThread {
    /// The session it belongs to, which may be an earlier one that is over.
    session: SessionId,
    stack: StackTop,
    serial: Option<ThreadSerial>,
    /// `true` while the thread's allocations are the agent's.
    is_muted: bool,
    /// The step at which the VM has drawn the thread's next event: that of its last one, or of its start.
    drawn: Step,
    tracker: Arc<OwnLock<Option<ThreadTracker>>>,
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
            answer = tracker.as_mut().map(|own| body(own.counts()));
        });
        answer
    }

    fn new(shared: &Arc<TrackerState>, drawn: Step) -> Self {
        let tracker = match shared.has_ended.load(Ordering::Relaxed) {
            // Nobody would remove it any more, and it would keep the whole tracker alive.
            true => Arc::default(),
            false => shared.threads.add(ThreadTracker::new(shared.clone())),
        };
        Self {
            session: shared.session,
            stack: StackTop::default(),
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
        let stack = CurrentStack {
            top: &mut self.stack,
            serial: &mut self.serial,
        };
        let event = AllocationEvent {
            jni,
            allocation,
            step: drawn,
        };
        let full = own.add_object(stack, event);
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
