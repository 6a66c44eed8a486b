//! `monitor=y`: the time that threads lose because another owns the monitor they want, and the owners and waiters of
//! all monitors.
//!
//! The VM reports the beginning and the end of a wait on the thread that waits. A virtual thread may change its carrier
//! in between (from JDK 24 it is unmounted while it waits), so pending waits are kept by the serial number of the Java
//! thread, not by system thread.

mod contention_cache;
mod contentions;
mod lock_waits;
mod pending;
mod report;
mod snapshot;
mod virtual_threads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::MONITORS_BEFORE_LOCKS;

use super::{
    Context, Engine, Report, Reporter, ReporterWithoutVm, Requirement, ThreadWatcher, Totals,
};
use jvmti::{Capability, Env, Event, Jni, JvmtiError, Object, VirtualThreads, WeakRef};
use locks::{Mutex, rank};
use names::thread::ThreadSerial;
use options::Options;
use output::Journal;
use output::console;
use stacks::Stacks;

use contention_cache::Contenders;
use contentions::Contentions;
use lock_waits::LockWaits;
use pending::PendingWaits;
use virtual_threads::KnownVirtualThreads;

/// Enabled before the beginnings, so that no end is missed: a beginning without its end would stay behind.
const ENDS: [Event; 2] = [Event::MonitorEntered, Event::MonitorWaited];
const BEGINNINGS: [Event; 2] = [Event::MonitorEnter, Event::MonitorWait];
/// The shortest interval at which unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Watches monitors.
///
/// Its own locks are taken one at a time, and neither the tables nor the journal is used while one of them is held.
/// Only `next_sweep` is held during the check.
pub struct MonitorWatch {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    stacks: Arc<Stacks>,
    journal: Arc<Journal>,
    cutoff: f64,
    contentions: Arc<Contentions>,
    places: Contenders,
    pending_waits: Arc<PendingWaits>,
    lock_waits: LockWaits,
    known: KnownVirtualThreads,
    /// `true` if the VM omits virtual threads when it is asked for the users of a monitor.
    hides_virtual_threads: bool,
    /// `true` if only the costs of contention are reported, without what happens in between.
    only_costs: bool,
    next_sweep: Mutex<Instant, rank::MonitorSweep>,
}

/// Returns the capabilities that `monitor=y` needs.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    options.monitors.then_some(Requirement {
        option: "monitor=y",
        capabilities: &[Capability::MonitorEvents],
    })
}

impl MonitorWatch {
    /// Creates the engine; `None` if the options do not request it.
    pub(super) fn new(context: &Context) -> Option<Self> {
        if !context.options.monitors {
            return None;
        }
        let env = context.env;
        let only_costs = context.options.live.is_some();
        // The monitors that a thread owns are asked for of virtual threads alone.
        let states = match context.virtual_threads {
            Some(_) => &[Capability::ContendedMonitor, Capability::OwnedMonitors][..],
            None => &[Capability::ContendedMonitor],
        };
        if !only_costs && env.request(states).is_err() {
            console::line(format_args!(
                "monitor=y: in a VM that is already running, the MONITOR DUMP does not say which monitors threads want; waits for locks are measured all the same"
            ));
        }
        let contentions = Arc::new(Contentions::default());
        let pending_waits = Arc::new(PendingWaits::default());
        let lock_waits = LockWaits::new(context, contentions.clone(), pending_waits.clone());
        Some(Self {
            env,
            virtual_threads: context.virtual_threads,
            stacks: context.stacks.clone(),
            journal: context.journal.clone(),
            cutoff: context.options.cutoff,
            contentions,
            places: Contenders::new(context.top_frames.clone(), env.session()),
            pending_waits,
            lock_waits,
            known: KnownVirtualThreads::default(),
            hides_virtual_threads: env.vm_kind().hides_virtual_threads_at_monitors(),
            only_costs,
            next_sweep: Mutex::new(Instant::now() + SWEEP_INTERVAL),
        })
    }

    /// Called when the current thread wants a monitor that another owns.
    pub fn entering(&self, jni: Jni<'_>, serial: ThreadSerial, monitor: Object<'_>) {
        if serial == ThreadSerial::UNKNOWN {
            return;
        }
        let Some(place) = self.place(jni, serial, monitor) else {
            return;
        };
        // The clock is read last, so that the time this function took is not charged to the monitor.
        let monitor = WeakRef::new(jni, monitor);
        self.pending_waits.entering(serial, place, monitor);
    }

    /// Called when the current thread has acquired the monitor.
    pub fn entered(&self, serial: ThreadSerial) {
        let now = Instant::now();
        if let Some((place, since)) = self.pending_waits.entered(serial) {
            let nanos = now.saturating_duration_since(since).as_nanos();
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            self.contentions.add(place, nanos);
        }
    }

    /// Called when the current thread begins to wait to be notified, for at most `timeout` milliseconds (0: without a
    /// limit).
    pub fn waiting(&self, jni: Jni<'_>, serial: ThreadSerial, monitor: Object<'_>, timeout: u64) {
        let Ok(signature) = self.signature(jni, monitor) else {
            return;
        };
        report::waiting(&self.journal, signature, timeout, serial);
        if serial != ThreadSerial::UNKNOWN {
            // The time is taken last: the thread may have waited for the disk.
            self.pending_waits
                .waiting(serial, WeakRef::new(jni, monitor));
        }
    }

    /// Called when the current thread's wait is over.
    pub fn waited(&self, jni: Jni<'_>, serial: ThreadSerial, monitor: Object<'_>) {
        let now = Instant::now();
        // A wait that began before the agent did has no line for its beginning, and gets none for its end.
        let Some(waiting) = self.pending_waits.waited(serial) else {
            return;
        };
        if let Ok(signature) = self.signature(jni, monitor) {
            let time = now.saturating_duration_since(waiting.since);
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            report::waited(&self.journal, signature, millis, serial);
        }
    }

    /// Called on a virtual thread that has a carrier again.
    pub fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: Object<'_>) {
        self.lock_waits.virtual_thread_mounted(jni, thread);
    }

    /// Called on a virtual thread that is about to leave its carrier.
    pub fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: Object<'_>) {
        self.lock_waits.virtual_thread_unmounted(jni, thread);
    }

    /// Returns the signature of a monitor's class.
    fn signature(&self, jni: Jni<'_>, monitor: Object<'_>) -> Result<String, JvmtiError> {
        match jni.class_of(monitor) {
            Some(class) => self.env.class_signature(class.object()),
            // Every object has a class.
            None => Ok(String::new()),
        }
    }
}

impl Engine for MonitorWatch {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.places.start(jni);
        self.lock_waits.start(jni)?;
        if let Some(virtual_threads) = self.virtual_threads {
            self.env.enable(Event::VirtualThreadEnd)?;
            virtual_threads.enable_mount_events()?;
        }
        // Those are reported as they happen.
        let is_about_waits =
            |event: &Event| matches!(event, Event::MonitorWait | Event::MonitorWaited);
        ENDS.into_iter()
            .chain(BEGINNINGS)
            .filter(|event| !self.only_costs || !is_about_waits(event))
            .try_for_each(|event| self.env.enable(event))
    }

    /// Keeps the costs so far, and the threads that wait now, for reports.
    fn stop(&self, _jni: Jni<'_>) {
        self.lock_waits.stop();
        // If an event cannot be disabled, it finds no pending wait.
        for event in BEGINNINGS.into_iter().chain(ENDS) {
            let _ = self.env.disable(event);
        }
        if let Some(virtual_threads) = self.virtual_threads {
            let _ = self.env.disable(Event::VirtualThreadEnd);
            let _ = virtual_threads.disable_mount_events();
        }
    }

    fn give_back(&self, _jni: Jni<'_>) {
        self.places.forget();
        self.pending_waits.clear();
        self.known.clear();
        self.lock_waits.give_back();
    }
}

impl ThreadWatcher for MonitorWatch {
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.lock_waits.thread_registered(jni, thread, serial);
    }

    fn virtual_thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.known.add(jni, thread, serial);
    }

    fn current_thread_ended(&self, serial: Option<ThreadSerial>) {
        if let Some(serial) = serial {
            self.pending_waits.forget(serial);
            self.known.forget(serial);
            self.lock_waits.thread_ended(serial);
        }
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        self.current_thread_ended(Some(serial));
    }
}

impl Reporter for MonitorWatch {
    fn section(&self) -> Option<&'static str> {
        Some("contended monitor usage")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.stacks.sweep(jni);
        if self.only_costs {
            return self.report_without_vm(report);
        }
        let serial = |thread: Object<'_>| report.threads.serial(jni, thread);
        match snapshot::snapshot(self, jni, &serial) {
            Ok(states) => report::monitor_dump(report.journal, &states),
            Err(error) => console::line(format_args!("{error}; a monitor dump is left out")),
        }
        self.report_without_vm(report);
    }

    fn unknown_without_vm(&self) -> Option<&'static str> {
        Some("there is no monitor dump")
    }
}

impl ReporterWithoutVm for MonitorWatch {
    fn report_without_vm(&self, report: &Report<'_>) {
        let costs = self.contentions.costs(report.totals);
        report::monitor_time(report.journal, costs, self.cutoff, MONITORS_BEFORE_LOCKS);
        self.lock_waits.report(report, self.cutoff);
    }

    fn report_known(&self, journal: &Journal, least: f64) {
        let costs = self.contentions.costs(Totals::Keep);
        report::monitor_time(
            journal,
            costs,
            self.cutoff.max(least),
            MONITORS_BEFORE_LOCKS,
        );
        self.lock_waits
            .report_known(journal, self.cutoff.max(least));
    }
}
