//! Which session something belongs to.

use std::sync::atomic::{AtomicU32, Ordering};

/// Tells a session from those that were before it in this VM: threads, and what is kept on them, outlive sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId(pub(super) u32);

impl SessionId {
    /// No session.
    pub(super) const NONE: Self = Self(0);

    /// That of a new session.
    pub(super) fn next() -> Self {
        static SESSIONS: AtomicU32 = AtomicU32::new(1);
        Self(SESSIONS.fetch_add(1, Ordering::Relaxed))
    }
}
