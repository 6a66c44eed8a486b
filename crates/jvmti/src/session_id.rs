//! Identifies a session.

use std::sync::atomic::{AtomicU32, Ordering};

/// Distinguishes a session from earlier ones in this VM: threads, and data kept on them, outlive sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId(pub(super) u32);

impl SessionId {
    /// No session.
    pub(super) const NONE: Self = Self(0);

    /// Returns the id of a new session.
    pub(super) fn next() -> Self {
        static SESSIONS: AtomicU32 = AtomicU32::new(1);
        Self(SESSIONS.fetch_add(1, Ordering::Relaxed))
    }
}
