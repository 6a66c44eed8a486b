//! The VM's life: up, asked for a dump, down.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Handlers;
use crate::console;
use crate::engines::alloc::{AllocationTracker, Moment, Report};
use crate::jvmti::{Event, Jni, JvmtiError, Object};
use crate::snapshot::{self, HeapState, SitesRequest};

/// How long one dump waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

impl Handlers {
    /// Main first, so that it has the first number.
    pub(super) fn on_vm_init(&self, jni: Jni<'_>, main: Object<'_>) {
        self.register(jni, main);
        if let Err(error) = self.begin(jni) {
            console::line(format_args!(
                "{error}; there will be no profile, the program goes on"
            ));
        }
    }

    /// What VMInit and attaching to a VM that is up have in common. The events come first, then the threads that were
    /// there before.
    ///
    /// Who attaches right at the start gets VMInit as well: the VM answers requests a moment before.
    pub(super) fn begin(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.env.enable(Event::ThreadStart)?;
        self.env.enable(Event::ThreadEnd)?;
        for thread in self.env.all_threads(jni)? {
            self.register(jni, thread.object());
        }
        if let Some(sampler) = &self.sampler {
            sampler.start(jni)?;
        }
        // Last: what the agent itself causes to be made is not the program's.
        if let Some(tracker) = &self.tracker
            && !tracker.start(jni)?
        {
            console::line(format_args!(
                "threads that run already may make half a megabyte of objects each before they are seen"
            ));
        }
        Ok(())
    }

    pub(super) fn on_data_dump_request(&self) {
        let Some(jni) = self.env.current_jni() else {
            return;
        };
        self.dump(jni, Moment::Running);
        self.journal.flush();
    }

    pub(super) fn on_vm_death(&self, jni: Jni<'_>) {
        self.end(jni);
        if self.plan.on_exit && !self.is_quiet() {
            self.dump(jni, Moment::Death);
        }
        (self.closed)(self.journal.close());
    }

    /// The profile ends, the program goes on. `doe=n` speaks of the program's end: who stops a profile wants it.
    pub(super) fn on_stop(&self, jni: Jni<'_>) -> bool {
        self.end(jni);
        if !self.is_quiet() {
            self.dump(jni, Moment::Running);
        }
        let is_sound = self.journal.close();
        (self.closed)(is_sound);
        self.give_back(jni);
        is_sound && !self.is_quiet()
    }

    /// What VMDeath and a stop have in common: nothing is measured any more, and the threads of the engines have ended.
    fn end(&self, jni: Jni<'_>) {
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(sampler) = &self.sampler {
            sampler.stop(jni);
        }
    }

    /// For a VM that goes on: the engines give back what they hold of it and do not free by being dropped.
    fn give_back(&self, jni: Jni<'_>) {
        if let Some(tracker) = &self.tracker {
            tracker.give_back(jni);
        }
    }

    fn dump(&self, jni: Jni<'_>, moment: Moment) {
        // Dumps stand one after the other. One on request may be waiting for a collection that never comes: some
        // collectors stop before VMDeath is told. The end of the program does not wait for it.
        let Some(_dumping) = self.dumping.try_lock_for(PATIENCE) else {
            console::line(format_args!(
                "a dump on request is still going on; this one is left out"
            ));
            return;
        };
        if self.tracker.is_none() && self.sampler.is_none() {
            return;
        }
        self.say("Dumping");
        if let Some(tracker) = &self.tracker {
            self.say(" allocation sites ...");
            self.dump_sites(jni, tracker, moment);
        }
        if self.sampler.is_some() {
            self.say(" CPU usage by sampling running threads ...");
            snapshot::cpu_samples(&self.journal, self.plan.cutoff);
        }
        self.say(" done.\n");
    }

    fn dump_sites(&self, jni: Jni<'_>, tracker: &AllocationTracker, moment: Moment) {
        let report = match tracker.report(jni, moment, self.plan.collect) {
            Ok(report) => report,
            Err(error) => {
                console::line(format_args!(
                    "{error}; live objects are those of the last look"
                ));
                Report::default()
            }
        };
        let mut notes = Vec::new();
        if let Some(bytes) = self.plan.sampled {
            notes.push(format!("sampled every {bytes} bytes"));
        }
        if !report.collected {
            notes.push("live as of the last garbage collection".to_owned());
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let request = SitesRequest {
            cutoff: self.plan.cutoff,
            ..SitesRequest::default()
        };
        let state = HeapState {
            collected: report.collected,
            unseen: &report.unseen,
            note: note.as_deref(),
        };
        snapshot::sites(&self.journal, request, state);
    }

    fn say(&self, text: &str) {
        if self.plan.verbose {
            console::plain(format_args!("{text}"));
        }
    }
}
