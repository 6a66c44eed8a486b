//! Delivers the VM's events to the session that runs.

use std::ffi::CStr;

use super::last_resort;
use super::lifecycle::{self, GATE, NotBegun};
use super::state::Session;
use crate::engines::allocations::AllocationTracker;
use crate::engines::monitors::MonitorWatch;
use jvmti::{
    Allocation, ClassFile, CurrentThread, Events, FrameClasses, GcPause, Jni, Object, OwnEnv,
    Resource, SessionEvents,
};
use names::thread::ThreadSerial;

/// More than the agent and the C library keep for a thread.
const FOR_A_THREAD: usize = 64 * 1024;

/// Begins a session: from here on it receives the VM's events. Only one at a time.
pub fn begin(env: OwnEnv, session: Session) -> Result<(), NotBegun> {
    lifecycle::begin(env, session, &EventHandler)?;
    last_resort::prepare();
    Ok(())
}

/// Receives the VM's events, for all sessions.
struct EventHandler;

impl Events for EventHandler {
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>) {
        lifecycle::vm_init(jni, thread);
    }

    fn vm_death(&self, jni: Jni<'_>) {
        lifecycle::vm_death(jni);
    }

    fn object_allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>) {
        // A thread that has allocated before has the session under a lock of its own, under which the session's end takes
        // it away. So it need not be counted by the gate, whose counters threads share: for some 100 ns of work they
        // would take the cache line from each other with each object.
        let here = GATE.run_outside(|outside| {
            AllocationTracker::track_on_known_thread(outside, jni, allocation)
        });
        if here != Some(false) {
            return;
        }
        GATE.run(|session| {
            if let Some(tracker) = &session.engines.allocations {
                tracker.track(jni, allocation);
            }
        });
    }

    fn pass(&self, event: &mut dyn FnMut(&dyn SessionEvents)) {
        GATE.run(|session| event(session));
    }
}

impl SessionEvents for Session {
    fn thread_start(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        // The C library ends the process if it finds no room for the data it keeps for a thread.
        memory::need(FOR_A_THREAD);
        self.threads.current_started(jni, thread);
    }

    fn thread_end(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        self.threads.current_ended(jni, thread);
    }

    fn monitor_enter(&self, jni: Jni<'_>, thread: CurrentThread<'_>, monitor: Object<'_>) {
        self.with_monitors(jni, thread, |monitors, serial| {
            monitors.entering(jni, serial, monitor);
        });
    }

    fn monitor_entered(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        self.with_monitors(jni, thread, MonitorWatch::entered);
    }

    fn monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: CurrentThread<'_>,
        monitor: Object<'_>,
        timeout: u64,
    ) {
        self.with_monitors(jni, thread, |monitors, serial| {
            monitors.waiting(jni, serial, monitor, timeout);
        });
    }

    fn monitor_waited(&self, jni: Jni<'_>, thread: CurrentThread<'_>, monitor: Object<'_>) {
        self.with_monitors(jni, thread, |monitors, serial| {
            monitors.waited(jni, serial, monitor);
        });
    }

    fn gc_finished(&self, pause: GcPause<'_>) {
        if let Some(tracker) = &self.engines.allocations {
            tracker.gc_finished(pause);
        }
    }

    fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>> {
        self.engines.cpu_times.as_ref()?.class_file(jni, class)
    }

    fn class_prepared(&self, jni: Jni<'_>, class: Object<'_>) {
        FrameClasses::prepared(self.context.env, jni, class);
    }

    fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        if let Some(samples) = &self.engines.cpu_samples
            && samples.tells_virtual_threads_apart()
        {
            samples.current_thread_carries(self.threads.current_serial(jni, thread));
        }
        if let Some(timer) = &self.engines.cpu_times {
            timer.virtual_thread_mounted(thread);
        }
        if let Some(monitors) = &self.engines.monitors {
            monitors.virtual_thread_mounted(jni, *thread);
        }
    }

    fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        if let Some(samples) = &self.engines.cpu_samples
            && samples.tells_virtual_threads_apart()
        {
            samples.current_thread_carries(None);
        }
        if let Some(timer) = &self.engines.cpu_times {
            timer.virtual_thread_unmounted(thread);
        }
        if let Some(monitors) = &self.engines.monitors {
            monitors.virtual_thread_unmounted(jni, *thread);
        }
    }

    fn resource_exhausted(&self, jni: Jni<'_>, resource: Resource, description: &CStr) {
        self.exhausted(jni, resource, description);
    }

    fn data_dump_request(&self) {
        self.sigquit();
    }
}

impl Session {
    /// Runs `body` if monitors are watched and the current thread is not the agent's.
    fn with_monitors(
        &self,
        jni: Jni<'_>,
        thread: CurrentThread<'_>,
        body: impl FnOnce(&MonitorWatch, ThreadSerial),
    ) {
        if let Some(monitors) = &self.engines.monitors
            && let Some(serial) = self.threads.current_serial(jni, thread)
        {
            body(monitors, serial);
        }
    }
}
