//! State that each thread keeps for itself, so that the common allocation takes only one lock, which nobody else
//! contends for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::TrackerState;
use super::session_sites::SessionSites;
use super::tracked_threads::OwnLock;
use crate::jvmti::{Allocation, Jni, SessionId};
use crate::memory::PerThread;
use crate::names::thread::ThreadSerial;
use crate::stacks::StackTop;

static LOCAL: PerThread<ThreadSites> = PerThread::new();

/// The state of one system thread. A virtual thread uses that of its current carrier.
pub(super) struct ThreadSites {
    /// The session it belongs to, which may be an earlier one that is over.
    session: SessionId,
    stack: StackTop,
    serial: Option<ThreadSerial>,
    /// `true` while the thread's allocations are the agent's.
    is_muted: bool,
    of_session: Arc<OwnLock<Option<SessionSites>>>,
}

impl ThreadSites {
    /// Records an allocation of the current thread. Returns `false` if the thread has no state for a running session:
    /// an allocation within an allocation event, or on a thread that is being torn down, finds it taken.
    #[inline]
    pub(super) fn allocated_here(jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let allocated = |local: &mut ThreadSites| local.allocated(jni, allocation);
        LOCAL
            .with(|local| local.as_mut().is_some_and(allocated))
            .unwrap_or(false)
    }

    /// Runs `body` with the current thread's state, or with temporary state if that is taken.
    pub(super) fn with(shared: &Arc<TrackerState>, body: impl FnOnce(&mut ThreadSites)) {
        let mut body = Some(body);
        LOCAL.with(|local| {
            if let Some(body) = body.take() {
                local.take_if(|local| local.session != shared.session);
                body(local.get_or_insert_with(|| ThreadSites::new(shared)));
            }
        });
        if let Some(body) = body {
            body(&mut ThreadSites::new(shared));
        }
    }

    fn new(shared: &Arc<TrackerState>) -> Self {
        let of_session = match shared.has_ended.load(Ordering::Relaxed) {
            // Nobody would remove it any more, and it would keep the whole tracker alive.
            true => Arc::default(),
            false => shared.threads.add(SessionSites::new(shared.clone())),
        };
        Self {
            session: shared.session,
            stack: StackTop::default(),
            serial: None,
            is_muted: false,
            of_session,
        }
    }

    pub(super) fn set_serial(&mut self, serial: ThreadSerial) {
        self.serial = Some(serial);
    }

    pub(super) fn set_muted(&mut self, is_muted: bool) {
        self.is_muted = is_muted;
    }

    /// Records an allocation of the thread; returns `false` if the session is over.
    #[inline]
    pub(super) fn allocated(&mut self, jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        let mut of_session = self.of_session.lock();
        let Some(sites) = &mut *of_session else {
            return false;
        };
        if sites.tracker.has_ended.load(Ordering::Relaxed) {
            *of_session = None;
            return false;
        }
        if self.is_muted {
            return true;
        }
        let full = sites.allocated(&mut self.stack, &mut self.serial, jni, allocation);
        if let Some(chunk) = full {
            let tracker = sites.tracker.clone();
            // A thread that waits here for the sweeper must not make others wait.
            drop(of_session);
            tracker.live.pile_up(chunk);
        }
        true
    }
}
