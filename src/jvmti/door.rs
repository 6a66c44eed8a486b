//! Who may come in from the VM: counts the events that are running, so that VMDeath can wait for them and let no more
//! in, and catches their panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::callbacks::{self, Events};
use super::env::Env;
use super::error::JvmtiError;

/// How long VMDeath waits for other events to end: a thread that a debugger suspended inside one never will.
const PATIENCE: Duration = Duration::from_secs(5);

static DOOR: OnceLock<Door> = OnceLock::new();

/// Counts the events that are running.
pub struct Door {
    events: Box<dyn Events>,
    /// How many are inside, spread out so that threads which allocate do not fight for one counter.
    running: [Counter; COUNTERS],
    closed: AtomicBool,
    waiting: Mutex<()>,
    left: Condvar,
}

const COUNTERS: usize = 16;

/// One counter with a cache line (two, where the CPU fetches them in pairs) to itself.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicUsize);

/// An event that has been let in; counts itself out on drop.
struct Visit<'a> {
    door: &'a Door,
    counter: &'a AtomicUsize,
}

impl Door {
    /// Whether there is a receiver of the VM's events already: the agent was loaded twice.
    pub fn is_installed() -> bool {
        DOOR.get().is_some()
    }

    /// Makes `events` the receiver of the VM's events. A second receiver is dropped.
    pub fn install(env: Env, events: Box<dyn Events>) -> Result<(), JvmtiError> {
        if DOOR.set(Self::new(events)).is_err() {
            return Ok(());
        }
        callbacks::register(env)
    }

    /// The one that was installed.
    pub(super) fn get() -> Option<&'static Self> {
        DOOR.get()
    }

    fn new(events: Box<dyn Events>) -> Self {
        Self {
            events,
            running: Default::default(),
            closed: AtomicBool::new(false),
            waiting: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// `None` once the door is closed. The count goes up before the look at `closed`, and `close` looks at the counts
    /// after it closed: one of the two always sees the other.
    fn enter(&self) -> Option<Visit<'_>> {
        let counter = &self.running[own_counter()].0;
        counter.fetch_add(1, Ordering::SeqCst);
        let visit = Visit {
            door: self,
            counter,
        };
        (!self.closed.load(Ordering::SeqCst)).then_some(visit)
    }

    fn is_empty(&self) -> bool {
        self.running
            .iter()
            .all(|counter| counter.0.load(Ordering::SeqCst) == 0)
    }

    /// Lets nobody in any more and waits until all have left, but not for ever.
    pub(super) fn close(&self) {
        self.close_within(PATIENCE);
    }

    fn close_within(&self, patience: Duration) {
        self.closed.store(true, Ordering::SeqCst);
        let mut waiting = self.waiting.lock();
        self.left
            .wait_while_for(&mut waiting, |()| !self.is_empty(), patience);
    }

    /// Runs one event, unless the door is closed; a panic ends here.
    pub(super) fn run(&self, event: &'static str, body: impl FnOnce(&dyn Events)) {
        let Some(_visit) = self.enter() else { return };
        self.guard(event, body);
    }

    /// As `run`, whether the door is closed or not.
    pub(super) fn guard(&self, event: &'static str, body: impl FnOnce(&dyn Events)) {
        let events = &*self.events;
        if catch_unwind(AssertUnwindSafe(|| body(events))).is_err() {
            // What the panic left half done must not bring down the handler of the panic as well.
            let _ = catch_unwind(AssertUnwindSafe(|| events.panicked(event)));
        }
    }
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
        if self.door.closed.load(Ordering::SeqCst) {
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
    use crate::jvmti::{Allocation, Jni, Object};

    #[derive(Default)]
    struct Counts {
        dumps: AtomicU32,
        panics: AtomicU32,
    }

    struct Counting(Arc<Counts>);

    impl Events for Counting {
        fn vm_init(&self, _: Jni<'_>, _: Object<'_>) {}
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
        fn panicked(&self, event: &'static str) {
            assert_eq!(event, "DataDumpRequest");
            self.0.panics.fetch_add(1, Ordering::SeqCst);
            panic!("the handler of the panic panics as well");
        }
    }

    fn door() -> (Door, Arc<Counts>) {
        let counts = Arc::new(Counts::default());
        (Door::new(Box::new(Counting(counts.clone()))), counts)
    }

    #[test]
    fn a_panic_stays_inside() {
        let (door, counts) = door();
        door.run("DataDumpRequest", |_| panic!("inside an event"));
        assert_eq!(counts.panics.load(Ordering::SeqCst), 1);
        door.run("DataDumpRequest", |events| events.data_dump_request());
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
        door.close();
        door.run("DataDumpRequest", |events| events.data_dump_request());
        assert_eq!(counts.dumps.load(Ordering::SeqCst), 0);
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
            door.close_within(Duration::from_secs(60));
            assert_eq!(counts.dumps.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn closing_does_not_wait_for_ever() {
        let (door, _) = door();
        let _stuck = door.enter();
        door.close_within(Duration::from_millis(10));
    }
}
