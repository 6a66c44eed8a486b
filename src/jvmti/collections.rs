//! Collections that the VM tells of: whether one is under way, and whether one has been meanwhile.
//!
//! One may lie within another: where metadata has reached its threshold and G1 collects all of the heap for it, the VM tells of
//! two beginnings and then of two ends. And not all are told of, see [`super::WeakSlots`].

use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// How many collections have begun, in the upper bits, and how many of them are under way, in the lowest eight. Only threads that
/// collect write it, while the program stands still.
static TOLD: AtomicUsize = AtomicUsize::new(0);

const UNDER_WAY: usize = 0xff;
const ONE_MORE: usize = (UNDER_WAY + 1) | 1;

/// A collection begins; nothing of the program runs any more.
pub(super) fn begin() {
    TOLD.store(begun(TOLD.load(Ordering::SeqCst)), Ordering::SeqCst);
    // Whoever sees what the collection writes must see that it has begun.
    fence(Ordering::SeqCst);
}

/// A collection has ended; the program still stands still.
pub(super) fn end() {
    TOLD.store(ended(TOLD.load(Ordering::SeqCst)), Ordering::SeqCst);
}

fn begun(told: usize) -> usize {
    told.wrapping_add(ONE_MORE)
}

/// The beginning may not have been told: the events are not switched on and off at once.
fn ended(told: usize) -> usize {
    match told & UNDER_WAY {
        0 => told,
        _ => told - 1,
    }
}

/// What changes with each collection that the VM tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToldCollections(usize);

/// The collections so far; `None` while one is under way.
#[inline]
pub(super) fn told() -> Option<ToldCollections> {
    quiet(TOLD.load(Ordering::Acquire))
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
