//! Tracks the garbage collections for which the VM sends events: whether one is under way, and whether one has happened
//! since.
//!
//! They can nest: if metadata has reached its threshold and G1 collects the whole heap for it, the VM sends two
//! beginnings and then two ends. The VM does not send events for all collections, see [`super::WeakSlots`].

use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// The number of collections that have begun, in the upper bits, and the number of those under way, in the lowest
/// eight. Written only on collecting threads, while the program is stopped.
static TOLD: AtomicUsize = AtomicUsize::new(0);

const UNDER_WAY: usize = 0xff;
const ONE_MORE: usize = (UNDER_WAY + 1) | 1;

/// Notes the beginning of a collection; no code of the program runs any more.
pub(super) fn begin() {
    TOLD.store(begun(TOLD.load(Ordering::SeqCst)), Ordering::SeqCst);
    // A thread that sees a write of the collection must also see that it has begun.
    fence(Ordering::SeqCst);
}

/// Notes the end of a collection; the program is still stopped.
pub(super) fn end() {
    TOLD.store(ended(TOLD.load(Ordering::SeqCst)), Ordering::SeqCst);
}

fn begun(told: usize) -> usize {
    told.wrapping_add(ONE_MORE)
}

/// Returns the state after an end. Its beginning may be missing, because the two events are not enabled at the same
/// moment.
fn ended(told: usize) -> usize {
    match told & UNDER_WAY {
        0 => told,
        _ => told - 1,
    }
}

/// A value that changes with each collection for which the VM sends an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToldCollections(usize);

/// Returns the collections so far; `None` while one is under way.
#[inline]
pub(super) fn told() -> Option<ToldCollections> {
    quiet(TOLD.load(Ordering::Acquire))
}

/// Returns `true` while a collection is under way for which the VM has sent an event.
#[inline]
pub fn collection_is_under_way() -> bool {
    told().is_none()
}

#[inline]
fn quiet(told: usize) -> Option<ToldCollections> {
    (told & UNDER_WAY == 0).then_some(ToldCollections(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_within_another_does_not_end_it() {
        let before = 0;
        let outer = begun(before);
        let inner = begun(outer);
        assert_eq!(quiet(outer), None);
        assert_eq!(quiet(inner), None);
        assert_eq!(quiet(ended(inner)), None, "the outer one is under way");
        let after = quiet(ended(ended(inner)));
        assert!(after.is_some() && after != quiet(before));
    }

    #[test]
    fn an_end_without_a_beginning_is_none() {
        assert_eq!(quiet(ended(0)), quiet(0));
        assert_eq!(quiet(begun(ended(0))), None);
    }
}
