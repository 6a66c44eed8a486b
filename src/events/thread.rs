//! Threads of the program come and go.

use super::Handlers;
use crate::jvmti::{Jni, JvmtiError, Local, Object};
use crate::snapshot::ThreadNames;
use crate::tables::thread::ThreadSerial;

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
        if self.env.set_thread_mark(thread, serial.0 as usize).is_err() {
            return None;
        }
        self.announce(jni, thread, serial);
        if let Some(sampler) = &self.sampler {
            sampler.thread_started(jni, thread, serial);
        }
        Some(serial)
    }

    pub(super) fn on_thread_end(&self) {
        if let Some(timer) = &self.timer {
            timer.thread_ended();
        }
        let Ok(mark) = self.env.thread_mark(None) else {
            return;
        };
        // A thread without a mark is one of ours.
        let Some(serial) = u32::try_from(mark)
            .ok()
            .filter(|&mark| mark != 0)
            .map(ThreadSerial)
        else {
            return;
        };
        if let Some(sampler) = &self.sampler {
            sampler.thread_ended(serial);
        }
        self.journal.thread_ended(serial);
    }

    fn announce(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let (name, group) = match self.env.thread_info(jni, thread) {
            Ok(info) => (info.name, info.group),
            Err(_) => (String::new(), None),
        };
        let (group, parent_group) = self.group_names(jni, group).unwrap_or_default();
        self.journal.thread_started(
            serial,
            &ThreadNames {
                name: &name,
                group: &group,
                parent_group: &parent_group,
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
