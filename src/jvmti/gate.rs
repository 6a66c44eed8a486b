//! Who may come in from the VM: counts the events that are running, so that the end of a round can wait for them and let
//! no more in, and catches their panics.
//!
//! A round is one profile, from its start to the VM's end or to a `stop`. There is one door for all of them, open while a
//! round runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::callbacks::Events;

static DOOR: Door = Door::new();

/// Counts the events that are running.
pub(super) struct Door {
    /// The receiver of the events; null while the door is closed. Freed by the one that closes the door, and only when
    /// nobody is inside.
    events: AtomicPtr<Box<dyn Events>>,
    /// How many are inside, spread out so that threads which allocate do not fight for one counter.
    running: [Counter; COUNTERS],
    waiting: Mutex<()>,
    left: Condvar,
}

const COUNTERS: usize = 16;

/// One counter with a cache line (two, where the CPU fetches them in pairs) to itself.
#[repr(align(128))]
struct Counter(AtomicUsize);

/// An event that has come in; counts itself out on drop.
struct Visit<'a> {
    door: &'a Door,
    counter: &'a AtomicUsize,
}

/// What the door let in until it was closed.
pub(super) enum Closed {
    /// Nobody is inside any more.
    Empty(Box<Box<dyn Events>>),
    /// Somebody never left, and may use the receiver for ever.
    Occupied(&'static dyn Events),
}

impl Closed {
    /// The receiver.
    pub(super) fn events(&self) -> &dyn Events {
        match self {
            Closed::Empty(events) => &***events,
            Closed::Occupied(events) => *events,
        }
    }

    /// Runs the last event; `None` when it panicked.
    pub(super) fn run<T>(
        &self,
        event: &'static str,
        body: impl FnOnce(&dyn Events) -> T,
    ) -> Option<T> {
        guard(self.events(), event, body)
    }
}

impl Door {
    const fn new() -> Self {
        Self {
            events: AtomicPtr::new(ptr::null_mut()),
            running: [const { Counter(AtomicUsize::new(0)) }; COUNTERS],
            waiting: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// The one door, if it is open.
    pub(super) fn get() -> Option<&'static Self> {
        DOOR.is_open().then_some(&DOOR)
    }

    /// The one door.
    pub(super) fn any() -> &'static Self {
        &DOOR
    }

    pub(super) fn is_open(&self) -> bool {
        !self.events.load(Ordering::SeqCst).is_null()
    }

    /// Opens the door for this receiver. It must be closed: whoever opens it asks first, under a lock.
    pub(super) fn open(&self, events: Box<dyn Events>) {
        debug_assert!(!self.is_open());
        let events = Box::into_raw(Box::new(events));
        self.events.store(events, Ordering::SeqCst);
    }

    /// Lets nobody in any more and waits until all have left, but no longer than that: a thread that a debugger suspended
    /// inside never leaves. `None` when the door was closed already.
    pub(super) fn close(&self, patience: Duration) -> Option<Closed> {
        let events = self.events.swap(ptr::null_mut(), Ordering::SeqCst);
        if events.is_null() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        // Found once, it stays so: whoever still comes finds null, and leaves.
        let mut is_empty = false;
        let mut occupied = |_: &mut ()| {
            is_empty = self.is_empty();
            !is_empty
        };
        self.left
            .wait_while_for(&mut waiting, &mut occupied, patience);
        Some(if is_empty {
            // SAFETY: `open` made the pointer from a box; the swap gave it to this call alone; whoever read it before has
            // left, and whoever comes later finds null.
            Closed::Empty(unsafe { Box::from_raw(events) })
        } else {
            // SAFETY: as above, but that it is never freed.
            Closed::Occupied(unsafe { &**events })
        })
    }

    /// Runs one event, unless the door is closed; a panic ends here.
    pub(super) fn run<T>(
        &self,
        event: &'static str,
        body: impl FnOnce(&dyn Events) -> T,
    ) -> Option<T> {
        let _visit = self.enter();
        // The count goes up before this look, and `close` looks at the counts after it wrote null: one of the two always
        // sees the other.
        //
        // SAFETY: what is not null lives until `_visit` has counted itself out, at the end of this call.
        let events = unsafe { self.events.load(Ordering::SeqCst).as_ref() }?;
        guard(&**events, event, body)
    }

    fn enter(&self) -> Visit<'_> {
        let counter = &self.running[own_counter()].0;
        counter.fetch_add(1, Ordering::SeqCst);
        Visit {
            door: self,
            counter,
        }
    }

    fn is_empty(&self) -> bool {
        self.running
            .iter()
            .all(|counter| counter.0.load(Ordering::SeqCst) == 0)
    }
}

/// Runs one event; a panic ends here.
fn guard<T>(
    events: &dyn Events,
    event: &'static str,
    body: impl FnOnce(&dyn Events) -> T,
) -> Option<T> {
    let answer = catch_unwind(AssertUnwindSafe(|| body(events)));
    if answer.is_err() {
        // What the panic left half done must not bring down the handler of the panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| events.panicked(event)));
    }
    answer.ok()
}

/// The counter of this thread; several threads may share one.
fn own_counter() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % COUNTERS;
    }
    OWN.with(|own| *own)
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::SeqCst);
        if !self.door.is_open() {
            // The lock orders this notification after the waiter's look at the counts.
            let _waiting = self.door.waiting.lock();
            self.door.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;
    use crate::jvmti::{Allocation, Jni, JvmtiError, Object};

    const LONG: Duration = Duration::from_secs(60);

    #[derive(Default)]
    struct Counts {
        dumps: AtomicU32,
        panics: AtomicU32,
    }

    struct Counting(Arc<Counts>);

    impl Events for Counting {
        fn vm_init(&self, _: Jni<'_>, _: Object<'_>) {}
        fn attached(&self, _: Jni<'_>) -> Result<(), JvmtiError> {
            Ok(())
        }
        fn stopped(&self, _: Jni<'_>) -> bool {
            true
        }
        fn status(&self) -> String {
            String::new()
        }
        fn output(&self) -> &str {
            ""
        }
        fn vm_death(&self, _: Jni<'_>) {}
        fn thread_start(&self, _: Jni<'_>, _: Object<'_>) {}
        fn thread_end(&self, _: Jni<'_>, _: Object<'_>) {}
        fn allocated(&self, _: Jni<'_>, _: Allocation<'_>) {}
        fn monitor_enter(&self, _: Jni<'_>, _: Object<'_>, _: Object<'_>) {}
        fn monitor_entered(&self, _: Jni<'_>, _: Object<'_>) {}
        fn monitor_wait(&self, _: Jni<'_>, _: Object<'_>, _: Object<'_>, _: u64) {}
        fn monitor_waited(&self, _: Jni<'_>, _: Object<'_>, _: Object<'_>) {}
        fn gc_finished(&self) {}
        fn data_dump_request(&self) {
            self.0.dumps.fetch_add(1, Ordering::SeqCst);
        }
        fn dump_so_far(&self) {}
        fn requested(&self, _: Jni<'_>) {}
        fn panicked(&self, event: &'static str) {
            assert_eq!(event, "DataDumpRequest");
            self.0.panics.fetch_add(1, Ordering::SeqCst);
            panic!("the handler of the panic panics as well");
        }
    }

    fn door() -> (Door, Arc<Counts>) {
        let door = Door::new();
        let counts = reopen(&door);
        (door, counts)
    }

    fn reopen(door: &Door) -> Arc<Counts> {
        let counts = Arc::new(Counts::default());
        door.open(Box::new(Counting(counts.clone())));
        counts
    }

    fn dump(door: &Door) {
        door.run("DataDumpRequest", |events| events.data_dump_request());
    }

    #[test]
    fn a_panic_stays_inside() {
        let (door, counts) = door();
        door.run("DataDumpRequest", |_| panic!("inside an event"));
        assert_eq!(counts.panics.load(Ordering::SeqCst), 1);
        dump(&door);
        assert_eq!(
            counts.dumps.load(Ordering::SeqCst),
            1,
            "the door still works after a panic"
        );
        assert!(
            door.is_empty(),
            "and the panicking event counted itself out"
        );
    }

    #[test]
    fn nobody_enters_a_closed_door() {
        let (door, counts) = door();
        let closed = door.close(LONG).expect("it was open");
        dump(&door);
        assert_eq!(counts.dumps.load(Ordering::SeqCst), 0);
        assert!(matches!(closed, Closed::Empty(_)));
        assert!(door.close(LONG).is_none(), "and it is closed once");
    }

    #[test]
    fn a_door_opens_again_for_another_receiver() {
        let (door, first) = door();
        drop(door.close(LONG));
        assert_eq!(Arc::strong_count(&first), 1, "the first one is freed");
        let second = reopen(&door);
        dump(&door);
        assert_eq!(first.dumps.load(Ordering::SeqCst), 0);
        assert_eq!(second.dumps.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn closing_waits_for_the_events_that_run() {
        let (door, counts) = door();
        let inside = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                door.run("DataDumpRequest", |events| {
                    inside.wait();
                    thread::sleep(Duration::from_millis(50));
                    events.data_dump_request();
                });
            });
            inside.wait();
            door.close(LONG);
            assert_eq!(counts.dumps.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn closing_does_not_wait_for_ever_and_frees_nothing_in_use() {
        let (door, counts) = door();
        let _stuck = door.enter();
        let closed = door.close(Duration::from_millis(10));
        assert!(matches!(closed, Some(Closed::Occupied(_))));
        drop(closed);
        assert_eq!(Arc::strong_count(&counts), 2, "the one inside may use it");
    }

    #[test]
    fn doors_that_open_and_close_under_load_lose_nobody() {
        let door = Door::new();
        let end = std::sync::atomic::AtomicBool::new(false);
        let seen = AtomicU32::new(0);
        let counted = thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !end.load(Ordering::SeqCst) {
                        let answer =
                            door.run("DataDumpRequest", |events| events.data_dump_request());
                        seen.fetch_add(u32::from(answer.is_some()), Ordering::SeqCst);
                    }
                });
            }
            let mut counted = 0;
            for _ in 0..200 {
                let counts = reopen(&door);
                thread::yield_now();
                let closed = door.close(LONG);
                assert!(matches!(closed, Some(Closed::Empty(_))));
                drop(closed);
                assert_eq!(Arc::strong_count(&counts), 1);
                counted += counts.dumps.load(Ordering::SeqCst);
            }
            end.store(true, Ordering::SeqCst);
            counted
        });
        assert_eq!(
            counted,
            seen.load(Ordering::SeqCst),
            "every visit that was let in reached the receiver of its time"
        );
    }
}
