//! Where the VM calls us. Every function here counts itself in, catches panics, and hands over to the one [`Events`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Jni, Object};
use super::sys;

/// What happens on each event. The only way from the VM up into the agent.
pub trait Events: Send + Sync {
    /// The VM is up; `main` has not run yet.
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The program has ended, in whatever way; no other event is running, and none will come.
    fn vm_death(&self, jni: Jni<'_>);

    /// A platform thread begins; called on that thread.
    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>);

    /// A platform thread is about to end; called on that thread.
    fn thread_end(&self, jni: Jni<'_>, thread: Object<'_>);

    /// The user asked for a dump (SIGQUIT).
    fn data_dump_request(&self);

    /// A panic was caught on its way to the VM, in the event named; the agent must leave the program alone from here.
    fn panicked(&self, event: &'static str);
}

/// The events that can be switched on beside those of the VM's life, which always come.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// [`Events::thread_start`].
    ThreadStart,
    /// [`Events::thread_end`].
    ThreadEnd,
}

/// How long VMDeath waits for other events to end: a thread that a debugger suspended inside one never will.
const PATIENCE: Duration = Duration::from_secs(5);

static DOOR: OnceLock<Door> = OnceLock::new();

/// Counts the events that are running, so that VMDeath can wait for them and let no more in.
pub struct Door {
    events: Box<dyn Events>,
    running: AtomicUsize,
    closed: AtomicBool,
    waiting: Mutex<()>,
    left: Condvar,
}

/// An event that has been let in; counts itself out on drop.
struct Visit<'a>(&'a Door);

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
        let callbacks = sys::jvmtiEventCallbacks {
            VMInit: Some(on_vm_init),
            VMDeath: Some(on_vm_death),
            ThreadStart: Some(on_thread_start),
            ThreadEnd: Some(on_thread_end),
            DataDumpRequest: Some(on_data_dump_request),
            ..Default::default()
        };
        // SAFETY: the VM copies the structure; its functions live as long as the library.
        unsafe {
            jvmti!(
                env,
                SetEventCallbacks,
                &callbacks,
                size_of_val(&callbacks) as sys::jint
            )?
        };
        for event in [
            sys::JVMTI_EVENT_VM_INIT,
            sys::JVMTI_EVENT_VM_DEATH,
            sys::JVMTI_EVENT_DATA_DUMP_REQUEST,
        ] {
            switch(env, event, sys::JVMTI_ENABLE)?;
        }
        Ok(())
    }

    fn new(events: Box<dyn Events>) -> Self {
        Self {
            events,
            running: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            waiting: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// `None` once the door is closed. The count goes up before the look at `closed`, and `close` looks at the count
    /// after it closed: one of the two always sees the other.
    fn enter(&self) -> Option<Visit<'_>> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let visit = Visit(self);
        (!self.closed.load(Ordering::SeqCst)).then_some(visit)
    }

    /// Lets nobody in any more and waits until all have left, `patience` at most.
    fn close(&self, patience: Duration) {
        self.closed.store(true, Ordering::SeqCst);
        let mut waiting = self.waiting.lock();
        self.left.wait_while_for(
            &mut waiting,
            |()| self.running.load(Ordering::SeqCst) > 0,
            patience,
        );
    }

    /// Runs one event, unless the door is closed; a panic ends here.
    fn run(&self, event: &'static str, body: impl FnOnce(&dyn Events)) {
        let Some(_visit) = self.enter() else { return };
        self.guard(event, body);
    }

    fn guard(&self, event: &'static str, body: impl FnOnce(&dyn Events)) {
        let events = &*self.events;
        if catch_unwind(AssertUnwindSafe(|| body(events))).is_err() {
            // What the panic left half done must not bring down the handler of the panic as well.
            let _ = catch_unwind(AssertUnwindSafe(|| events.panicked(event)));
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let before = self.0.running.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.0.closed.load(Ordering::SeqCst) {
            // The lock orders this notification after the waiter's look at the count.
            let _waiting = self.0.waiting.lock();
            self.0.left.notify_all();
        }
    }
}

impl Env {
    /// Switches an event on for all threads.
    pub fn enable(self, event: Event) -> Result<(), JvmtiError> {
        switch(self, event.number(), sys::JVMTI_ENABLE)
    }
}

impl Event {
    fn number(self) -> sys::jvmtiEvent {
        match self {
            Event::ThreadStart => sys::JVMTI_EVENT_THREAD_START,
            Event::ThreadEnd => sys::JVMTI_EVENT_THREAD_END,
        }
    }
}

fn switch(env: Env, event: sys::jvmtiEvent, mode: sys::jvmtiEventMode) -> Result<(), JvmtiError> {
    // SAFETY: a null thread stands for all threads.
    unsafe {
        jvmti!(
            env,
            SetEventNotificationMode,
            mode,
            event,
            std::ptr::null_mut()
        )
    }
}

/// Unpacks the two arguments most events have, and runs the event.
///
/// # Safety
/// `jni` and `thread` must be what the VM passed to a callback on this thread.
unsafe fn with_thread(
    event: &'static str,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
    body: impl FnOnce(&dyn Events, Jni<'_>, Object<'_>),
) {
    let Some(door) = DOOR.get() else { return };
    // SAFETY: the caller passes the VM's arguments, valid until the callback returns.
    let (Some(jni), Some(thread)) = (unsafe { (Jni::from_raw(jni), Object::from_raw(thread)) })
    else {
        return;
    };
    door.run(event, |events| body(events, jni, thread));
}

unsafe extern "C" fn on_vm_init(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread("VMInit", jni, thread, |events, jni, thread| {
            events.vm_init(jni, thread)
        })
    }
}

unsafe extern "C" fn on_vm_death(_: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    let Some(door) = DOOR.get() else { return };
    // SAFETY: the VM's argument, valid until the callback returns.
    let Some(jni) = (unsafe { Jni::from_raw(jni) }) else {
        return;
    };
    door.close(PATIENCE);
    door.guard("VMDeath", |events| events.vm_death(jni));
}

unsafe extern "C" fn on_thread_start(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread("ThreadStart", jni, thread, |events, jni, thread| {
            events.thread_start(jni, thread)
        })
    }
}

unsafe extern "C" fn on_thread_end(
    _: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jthread,
) {
    // SAFETY: the VM's arguments.
    unsafe {
        with_thread("ThreadEnd", jni, thread, |events, jni, thread| {
            events.thread_end(jni, thread)
        })
    }
}

unsafe extern "C" fn on_data_dump_request(_: *mut sys::jvmtiEnv) {
    let Some(door) = DOOR.get() else { return };
    door.run("DataDumpRequest", |events| events.data_dump_request());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;

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
        assert_eq!(
            door.running.load(Ordering::SeqCst),
            0,
            "and the panicking event counted itself out"
        );
    }

    #[test]
    fn nobody_enters_a_closed_door() {
        let (door, counts) = door();
        door.close(PATIENCE);
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
            door.close(Duration::from_secs(60));
            assert_eq!(counts.dumps.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn closing_does_not_wait_for_ever() {
        let (door, _) = door();
        let _stuck = door.enter();
        door.close(Duration::from_millis(10));
    }
}
