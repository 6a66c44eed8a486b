//! The VM's life: up, asked for a dump, down.

use std::time::Duration;

use super::Handlers;
use crate::console;
use crate::engines::alloc::{AllocationTracker, Moment, Report};
use crate::engines::time::MethodTimer;
use crate::jvmti::{Event, Jni, JvmtiError, Object};
use crate::snapshot::{self, HeapState, SitesRequest};

/// How long one dump waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

impl Handlers {
    pub(super) fn on_vm_init(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Err(error) = self.begin(jni, thread) {
            console::line(format_args!(
                "{error}; there will be no profile, the program goes on"
            ));
        }
    }

    /// Main first, so that it has the first number; then the events, and last the threads that were there before.
    fn begin(&self, jni: Jni<'_>, main: Object<'_>) -> Result<(), JvmtiError> {
        self.register(jni, main);
        self.env.enable(Event::ThreadStart)?;
        self.env.enable(Event::ThreadEnd)?;
        for thread in self.env.all_threads(jni)? {
            self.register(jni, thread.object());
        }
        if let Some(sampler) = &self.sampler {
            sampler.start(jni)?;
        }
        if let Some(timer) = &self.timer {
            timer.start(jni)?;
        }
        // Last: what the agent itself causes to be made is not the program's.
        if let Some(tracker) = &self.tracker {
            tracker.start(jni)?;
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
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(sampler) = &self.sampler {
            sampler.stop(jni);
        }
        if let Some(timer) = &self.timer {
            timer.stop();
        }
        if self.plan.on_exit && !self.is_quiet() {
            self.dump(jni, Moment::Death);
        }
        (self.closed)(self.journal.close());
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
        if self.tracker.is_none() && self.sampler.is_none() && self.timer.is_none() {
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
        if let Some(timer) = &self.timer {
            self.dump_times(jni, timer);
        }
        self.say(" done.\n");
    }

    fn dump_times(&self, jni: Jni<'_>, timer: &MethodTimer) {
        let costs = timer.take_costs();
        let notes = match self.plan.verbose {
            true => timer.left_out(jni),
            false => Vec::new(),
        };
        if !self.plan.old_prof {
            self.say(" CPU usage by timing methods ...");
            snapshot::cpu_times(&self.journal, costs, self.plan.cutoff, &notes);
            return;
        }
        self.say(" CPU usage in old prof format ...");
        snapshot::old_prof(&self.journal, &costs);
        // That format has no place for them.
        for note in notes {
            self.say(&format!(" ({note})"));
        }
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
