//! What each thread keeps for itself, so that the common allocation takes one lock, which nobody else wants.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::TrackerState;
use super::thread_tracker::ThreadTracker;
use super::tracked_threads::OwnLock;
use crate::jvmti::{Allocation, Jni, SessionId};
use crate::memory::PerThread;
use crate::names::thread::ThreadSerial;
use crate::stacks::StackTop;

static LOCAL: PerThread<AllocatingThread> = PerThread::new();

/// What one thread of the system keeps. A virtual thread uses that of whichever carries it.
pub(super) struct AllocatingThread {
    /// A thread may find what it kept for an earlier session, which is over.
    session: SessionId,
    stack: StackTop,
    serial: Option<ThreadSerial>,
    /// What the thread makes is the agent's.
    is_muted: bool,
    tracker: Arc<OwnLock<Option<ThreadTracker>>>,
}

impl AllocatingThread {
    /// The current thread has made an object. `false` where it keeps nothing of a session that lasts: an allocation inside an
    /// allocation event, or on a thread that is being taken down, finds it taken.
    #[inline]
    pub(super) fn track_current(jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let track = |local: &mut AllocatingThread| local.track(jni, allocation);
        LOCAL
            .with(|local| local.as_mut().is_some_and(track))
            .unwrap_or(false)
    }

    /// Runs `body` with what the current thread keeps; where that is taken, with something for the moment.
    pub(super) fn with(shared: &Arc<TrackerState>, body: impl FnOnce(&mut AllocatingThread)) {
        let mut body = Some(body);
        LOCAL.with(|local| {
            if let Some(body) = body.take() {
                local.take_if(|local| local.session != shared.session);
                body(local.get_or_insert_with(|| AllocatingThread::new(shared)));
            }
        });
        if let Some(body) = body {
            body(&mut AllocatingThread::new(shared));
        }
    }

    fn new(shared: &Arc<TrackerState>) -> Self {
        let tracker = match shared.has_ended.load(Ordering::Relaxed) {
            // Nobody would take it away any more: it holds on to all that is tracked.
            true => Arc::default(),
            false => shared.threads.add(ThreadTracker::new(shared.clone())),
        };
        Self {
            session: shared.session,
            stack: StackTop::default(),
            serial: None,
            is_muted: false,
            tracker,
        }
    }

    pub(super) fn set_serial(&mut self, serial: ThreadSerial) {
        self.serial = Some(serial);
    }

    pub(super) fn set_muted(&mut self, is_muted: bool) {
        self.is_muted = is_muted;
    }

    /// The thread has made an object; `false` where the session is over.
    #[inline]
    pub(super) fn track(&mut self, jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let mut tracker = self.tracker.lock();
        let Some(own) = &mut *tracker else {
            return false;
        };
        if own.state.has_ended.load(Ordering::Relaxed) {
            *tracker = None;
            return false;
        }
        if self.is_muted {
            return true;
        }
        let full = own.add_object(&mut self.stack, &mut self.serial, jni, allocation);
        if let Some(chunk) = full {
            let state = own.state.clone();
            // Whoever waits here for the sweeper must not keep others waiting.
            drop(tracker);
            state.live.pile_up(chunk);
        }
        true
    }
}
