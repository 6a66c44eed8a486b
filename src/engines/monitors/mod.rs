//! `monitor=y`: the time that threads lose because another has the monitor they want, and who has and wants what.
//!
//! The VM tells a thread's wish and its fulfilment on that thread. A virtual thread may change its carrier in between
//! (from JDK 24 on it leaves it while it waits), so what has begun is kept by the number of the thread, not by that of
//! the system's thread.

mod pending;
mod places;
pub mod report;
mod snapshot;
mod virtual_threads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::jvmti::{Env, Event, Jni, JvmtiError, Object, VirtualThreads, Weak};
use crate::names::Tables;
use crate::names::monitor::MonitorStates;
use crate::names::thread::ThreadSerial;
use crate::stacks::{Stacks, TopFrames};

use pending::Begun;
use places::Places;
use virtual_threads::Known;

/// The beginnings before their ends, so that no end is missed: a beginning without its end would stay behind.
const ENDS: [Event; 2] = [Event::MonitorEntered, Event::MonitorWaited];
const BEGINNINGS: [Event; 2] = [Event::MonitorEnter, Event::MonitorWait];
/// How often unloaded classes are looked for at the most.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Watches monitors.
///
/// Lock order: its own locks are taken one at a time, and none of them while the VM, the tables or the journal is called.
/// Only `next_sweep` is held while it is looked at.
pub struct MonitorWatch {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    stacks: Arc<Stacks>,
    tables: Arc<Tables>,
    places: Places,
    begun: Begun,
    known: Known,
    /// Whether the VM leaves virtual threads out where it is asked for the users of a monitor.
    hides_virtual_threads: bool,
    next_sweep: Mutex<Instant>,
}

impl MonitorWatch {
    /// A watch that has not begun.
    pub fn new(
        env: Env,
        virtual_threads: Option<VirtualThreads>,
        stacks: Arc<Stacks>,
        top_frames: Box<dyn TopFrames>,
        tables: Arc<Tables>,
    ) -> Self {
        Self {
            env,
            virtual_threads,
            stacks,
            tables,
            places: Places::new(top_frames),
            begun: Begun::default(),
            known: Known::default(),
            hides_virtual_threads: env.vm_version().is_some_and(|version| version >= 23),
            next_sweep: Mutex::new(Instant::now() + SWEEP_INTERVAL),
        }
    }

    /// Begins, when the VM is up and its threads are known.
    pub fn start(&self) -> Result<(), JvmtiError> {
        if self.virtual_threads.is_some() {
            self.env.enable(Event::VirtualThreadEnd)?;
        }
        ENDS.into_iter()
            .chain(BEGINNINGS)
            .try_for_each(|event| self.env.enable(event))
    }

    /// Ends. What was lost so far stays in the tables, and who waits now can still be asked for.
    pub fn stop(&self) {
        // An event that cannot be switched off finds nothing to end.
        for event in BEGINNINGS.into_iter().chain(ENDS) {
            let _ = self.env.disable(event);
        }
        if self.virtual_threads.is_some() {
            let _ = self.env.disable(Event::VirtualThreadEnd);
        }
    }

    /// Forgets who waits, and the virtual threads; after [`MonitorWatch::stop`].
    pub fn forget(&self) {
        self.begun.clear();
        self.known.clear();
    }

    /// Whether the thread is a virtual one.
    pub fn is_virtual(&self, jni: Jni<'_>, thread: Object<'_>) -> bool {
        self.virtual_threads
            .is_some_and(|virtual_threads| virtual_threads.is_virtual(jni, thread))
    }

    /// A virtual thread has been given its number.
    pub fn virtual_thread_known(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.known.add(jni, thread, serial);
    }

    /// A thread, platform or virtual, is about to end.
    pub fn thread_ended(&self, serial: ThreadSerial) {
        self.begun.forget(serial);
        self.known.forget(serial);
    }

    /// The current thread wants a monitor that another has.
    pub fn entering(&self, jni: Jni<'_>, serial: ThreadSerial, monitor: Object<'_>) {
        if serial == ThreadSerial::UNKNOWN {
            return;
        }
        let Some(place) = self.place(jni, serial, monitor) else {
            return;
        };
        // The clock is read last: what this function took is not the monitor's fault.
        self.begun.entering(serial, place);
    }

    /// The current thread has got the monitor.
    pub fn entered(&self, serial: ThreadSerial) {
        let now = Instant::now();
        if let Some((place, since)) = self.begun.entered(serial) {
            let nanos = now.saturating_duration_since(since).as_nanos();
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            self.tables.contentions.add(place, nanos);
        }
    }

    /// The current thread begins to wait to be notified.
    pub fn waiting(&self, jni: Jni<'_>, serial: ThreadSerial, monitor: Object<'_>) {
        if serial != ThreadSerial::UNKNOWN {
            self.begun.waiting(serial, Weak::new(jni, monitor));
        }
    }

    /// The current thread waits no more; answers how long it did, `None` if it began before this was watched.
    pub fn waited(&self, serial: ThreadSerial) -> Option<Duration> {
        let now = Instant::now();
        let waiting = self.begun.waited(serial)?;
        Some(now.saturating_duration_since(waiting.since))
    }

    /// All platform threads, the virtual ones that are known or run now, and all monitors that these want or wait for.
    /// `number` answers the number of a thread, `None` for those that are to be left out.
    pub fn survey(
        &self,
        jni: Jni<'_>,
        number: &dyn Fn(Object<'_>) -> Option<ThreadSerial>,
    ) -> Result<MonitorStates, JvmtiError> {
        self.stacks.sweep(jni);
        snapshot::survey(self, jni, number)
    }

    /// The signature of a monitor's class.
    pub fn signature(&self, jni: Jni<'_>, monitor: Object<'_>) -> Result<String, JvmtiError> {
        match jni.class_of(monitor) {
            Some(class) => self.env.class_signature(class.object()),
            // Every object has a class.
            None => Ok(String::new()),
        }
    }
}
