//! Threads contend for monitors, and wait in them.

use super::Handlers;
use super::threads::serial_of;
use crate::console;
use crate::engines::monitors::MonitorWatch;
use crate::engines::monitors::report;
use crate::jvmti::{Jni, Object};
use crate::names::cost::Totals;
use crate::names::thread::ThreadSerial;

impl Handlers {
    pub(super) fn on_monitor_enter(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>) {
        if let Some((monitors, serial)) = self.watched(jni, thread) {
            monitors.entering(jni, serial, monitor);
        }
    }

    pub(super) fn on_monitor_entered(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Some((monitors, serial)) = self.watched(jni, thread) {
            monitors.entered(serial);
        }
    }

    pub(super) fn on_monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        monitor: Object<'_>,
        timeout: u64,
    ) {
        let Some((monitors, serial)) = self.watched(jni, thread) else {
            return;
        };
        let Ok(signature) = monitors.signature(jni, monitor) else {
            return;
        };
        report::waiting(&self.journal, &signature, timeout, serial);
        // The time begins last: the thread may have waited for the disk.
        monitors.waiting(jni, serial, monitor);
    }

    pub(super) fn on_monitor_waited(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>) {
        let Some((monitors, serial)) = self.watched(jni, thread) else {
            return;
        };
        // A wait that began before the agent did has no line for its beginning, and gets none for its end.
        let Some(time) = monitors.waited(serial) else {
            return;
        };
        if let Ok(signature) = monitors.signature(jni, monitor) {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            report::waited(&self.journal, &signature, millis, serial);
        }
    }

    /// The number of the current thread, where monitors are watched; `None` for a thread of ours.
    fn watched(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<(&MonitorWatch, ThreadSerial)> {
        let monitors = self.monitors.as_ref()?;
        // Cheaper than to ask for a thread by name.
        let serial = match self.env.thread_mark(None) {
            Ok(mark) if mark != 0 => serial_of(mark),
            _ => self.number(jni, monitors, thread)?,
        };
        Some((monitors, serial))
    }

    /// The number of any thread; `None` for one of ours. A virtual thread is announced here: most never have to do with
    /// a monitor that another thread wants, and need no number.
    fn number(
        &self,
        jni: Jni<'_>,
        monitors: &MonitorWatch,
        thread: Object<'_>,
    ) -> Option<ThreadSerial> {
        if let Ok(mark) = self.env.thread_mark(Some(thread))
            && mark != 0
        {
            return Some(serial_of(mark));
        }
        if self.agent_threads.contains(jni, thread) {
            return None;
        }
        let new = match monitors.is_virtual(jni, thread) {
            true => self.register_virtual(jni, monitors, thread),
            false => self.register(jni, thread),
        };
        let serial = new.or_else(|| {
            // Another thread has been faster.
            let mark = self.env.thread_mark(Some(thread)).ok()?;
            (mark != 0).then(|| serial_of(mark))
        });
        Some(serial.unwrap_or(ThreadSerial::UNKNOWN))
    }

    pub(super) fn dump_monitors(&self, jni: Jni<'_>, monitors: &MonitorWatch, totals: Totals) {
        let number = |thread: Object<'_>| self.number(jni, monitors, thread);
        match monitors.survey(jni, &number) {
            Ok(states) => report::monitor_dump(&self.journal, &states),
            Err(error) => console::line(format_args!("{error}; a dump of monitors is left out")),
        }
        report::monitor_time(&self.journal, self.plan.cutoff, totals);
    }
}
