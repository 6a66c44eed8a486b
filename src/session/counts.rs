//! Counts of the program's own: what it allocates between two of its points.

use std::time::Duration;

use super::lifecycle::GATE;
use super::state::Session;
use crate::engines::allocations::{AllocationTracker, CountScope, NotCounted};
use jvmti::Jni;

/// The longest that the program waits for a dump.
const WAIT_FOR_DUMP: Duration = Duration::from_secs(60);

/// The reason the program's call about a count failed, for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// No session runs.
    #[error("no profile is running")]
    NotRunning,
    /// The session has no allocations.
    #[error("the profile of this VM has no heap=sites, so it counts no allocations")]
    NotTracked,
    /// The tracker refused.
    #[error(transparent)]
    Refused(#[from] NotCounted),
}

/// Begins a count on the current thread. Returns its number, which is not 0.
pub fn begin_count(jni: Jni<'_>, scope: CountScope) -> Result<u64, CountError> {
    with_tracker(|_, tracker| Ok(tracker.begin_count(jni, scope)?))
}

/// Ends a count. Calls `give` with the amounts allocated since it began, by site, as text; what `give` allocates is not the
/// program's.
pub fn end_count<T>(
    jni: Jni<'_>,
    number: u64,
    give: impl FnOnce(&str) -> T,
) -> Result<T, CountError> {
    with_tracker(|_, tracker| {
        let text = tracker.end_count(jni, number)?;
        Ok(tracker.untracked(|| give(&text)))
    })
}

/// Collects garbage, and calls `give` with the live objects at the sites that a count has met, as [`end_count`]. The count
/// continues.
pub fn live_of_count<T>(
    jni: Jni<'_>,
    number: u64,
    give: impl FnOnce(&str) -> T,
) -> Result<T, CountError> {
    with_tracker(|session, tracker| {
        let dumping = session.dumps.try_lock_for(WAIT_FOR_DUMP);
        let _dumping = dumping.ok_or(NotCounted::Busy)?;
        let text = tracker.live_of_count(jni, number)?;
        Ok(tracker.untracked(|| give(&text)))
    })
}

fn with_tracker<T>(
    body: impl FnOnce(&Session, &AllocationTracker) -> Result<T, CountError>,
) -> Result<T, CountError> {
    let answer = GATE.run(|session| match &session.engines.allocations {
        Some(tracker) => body(session, tracker),
        None => Err(CountError::NotTracked),
    });
    answer.unwrap_or(Err(CountError::NotRunning))
}
