//! Collections that stop the program: whether one is under way, and whether one has been meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// Changes with each collection, and is odd while one is under way. Only the thread that collects writes it.
static COLLECTION: AtomicUsize = AtomicUsize::new(0);

/// A collection begins; nothing of the program runs any more.
pub(super) fn begin() {
    let before = COLLECTION.load(Ordering::SeqCst);
    COLLECTION.store(before.wrapping_add(2) | 1, Ordering::SeqCst);
    // Whoever sees what the collection writes must see that it has begun.
    fence(Ordering::SeqCst);
}

/// The collection has ended; the program still stands still.
pub(super) fn end() {
    COLLECTION.fetch_and(!1, Ordering::SeqCst);
}

/// The time from one collection that the VM tells of to the next. Objects stay where they are, but for what Serial and Parallel
/// collect for `jmap -histo:live`: JDK 17 tells nobody of that, JDK 25 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection(usize);

/// What changes with each collection; `None` while one is under way.
#[inline]
pub(super) fn current() -> Option<Collection> {
    let collection = COLLECTION.load(Ordering::Acquire);
    (collection & 1 == 0).then_some(Collection(collection))
}
