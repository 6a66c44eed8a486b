//! Threads of the program come and go.

use super::Handlers;
use crate::engines::monitors::MonitorWatch;
use crate::jvmti::{Jni, JvmtiError, Local, Object};
use crate::names::thread::ThreadSerial;
use crate::output::ThreadNames;

/// The mark of a thread that has ended without a number.
const ENDED: u32 = u32::MAX;

/// The number that a mark other than 0 stands for.
pub(super) fn serial_of(mark: u32) -> ThreadSerial {
    match mark {
        ENDED => ThreadSerial::UNKNOWN,
        serial => ThreadSerial(serial),
    }
}

impl Handlers {
    pub(super) fn on_thread_start(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Some(serial) = self.register(jni, thread)
            && let Some(tracker) = &self.tracker
        {
            tracker.thread_started(serial);
        }
    }

    /// Announces a thread, unless it has been announced or is one of ours. Threads that were there before VMInit are
    /// found by asking, and some of them send their ThreadStart event all the same. Answers the number of a thread that is new.
    pub(super) fn register(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial> {
        if self.agent_threads.contains(jni, thread) {
            return None;
        }
        let _registering = self.registering.lock();
        // A thread that has ended meanwhile cannot be marked, and need not be known.
        if self.env.thread_mark(Some(thread)) != Ok(0) {
            return None;
        }
        let serial = self.tables.threads.add();
        if self.env.set_thread_mark(thread, serial.0).is_err() {
            return None;
        }
        self.announce(jni, thread, serial);
        if let Some(sampler) = &self.sampler {
            sampler.thread_started(jni, thread, serial);
        }
        Some(serial)
    }

    /// Announces a virtual thread, unless it has been announced. It is nobody's to sample: its carrier is.
    pub(super) fn register_virtual(
        &self,
        jni: Jni<'_>,
        monitors: &MonitorWatch,
        thread: Object<'_>,
    ) -> Option<ThreadSerial> {
        let _registering = self.registering.lock();
        if self.env.thread_mark(Some(thread)) != Ok(0) {
            return None;
        }
        let serial = self.tables.threads.add();
        if self.env.set_thread_mark(thread, serial.0).is_err() {
            return None;
        }
        self.announce(jni, thread, serial);
        monitors.virtual_thread_known(jni, thread, serial);
        Some(serial)
    }

    pub(super) fn on_thread_end(&self, thread: Object<'_>) {
        if let Some(timer) = &self.timer {
            timer.thread_ended();
        }
        let Some(serial) = self.final_mark(thread) else {
            return;
        };
        if let Some(sampler) = &self.sampler {
            sampler.thread_ended(serial);
        }
        if let Some(monitors) = &self.monitors {
            monitors.thread_ended(serial);
        }
        self.journal.thread_ended(serial);
    }

    /// The number of a thread that is ending. One that was there before the agent may not have been announced yet, and must
    /// not be any more; one that is being announced has to be waited for.
    fn final_mark(&self, thread: Object<'_>) -> Option<ThreadSerial> {
        let _registering = self.registering.lock();
        let mark = self.env.thread_mark(None).ok()?;
        if mark == 0 {
            // Threads of ours come here too, and do not mind.
            let _ = self.env.set_thread_mark(thread, ENDED);
        }
        (mark != 0 && mark != ENDED).then_some(ThreadSerial(mark))
    }

    fn announce(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let (name, group) = match self.env.thread_info(jni, thread) {
            Ok(info) => (info.name, info.group),
            Err(_) => (String::new(), None),
        };
        let (group, parent_group) = self.group_names(jni, group).unwrap_or_default();
        self.journal.thread_started(
            serial,
            ThreadNames {
                name,
                group,
                parent_group,
            },
        );
    }

    /// The names of a group and of the group above it, empty where there is none.
    fn group_names(
        &self,
        jni: Jni<'_>,
        group: Option<Local<'_>>,
    ) -> Result<(String, String), JvmtiError> {
        let Some(group) = group else {
            return Ok(Default::default());
        };
        let group = self.env.group_info(jni, group.object())?;
        let parent = match group.parent {
            Some(parent) => self.env.group_info(jni, parent.object())?.name,
            None => String::new(),
        };
        Ok((group.name, parent))
    }
}
