//! The VM's life: up, asked for a dump, down.

use std::time::Duration;

use parking_lot::MutexGuard;

use super::Handlers;
use crate::console;
use crate::engines::alloc::{AllocationTracker, Moment, Report};
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
        // Last: what the agent itself causes to be made is not the program's.
        if let Some(tracker) = &self.tracker {
            tracker.start(jni)?;
        }
        if let Some(listener) = &self.listener {
            listener.start(&self.agent_threads, self.env, jni)?;
            // The collector sees that somebody is there.
            self.journal.flush();
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
        self.journal.hurry();
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(sampler) = &self.sampler {
            sampler.stop(jni);
        }
        if self.plan.on_exit && !self.is_quiet() {
            self.dump(jni, Moment::Death);
        }
        let is_sound = self.journal.close();
        if let Some(listener) = &self.listener {
            listener.finish();
        }
        (self.closed)(is_sound);
    }

    fn dump(&self, jni: Jni<'_>, moment: Moment) {
        let Some(_dumping) = self.turn() else { return };
        if self.tracker.is_none() && self.sampler.is_none() {
            return;
        }
        self.say("Dumping");
        if let Some(tracker) = &self.tracker {
            self.say(" allocation sites ...");
            let request = SitesRequest {
                cutoff: self.plan.cutoff,
                ..SitesRequest::default()
            };
            self.dump_sites(jni, tracker, moment, request, self.plan.collect);
        }
        if self.sampler.is_some() {
            self.say(" CPU usage by sampling running threads ...");
            snapshot::cpu_samples(&self.journal, self.plan.cutoff);
        }
        self.say(" done.\n");
    }

    /// Dumps stand one after the other. One on request may be waiting for a collection that never comes: some collectors
    /// stop before VMDeath is told. The end of the program does not wait for it.
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.dumping.try_lock_for(PATIENCE);
        if turn.is_none() {
            console::line(format_args!(
                "a dump on request is still going on; this one is left out"
            ));
        }
        turn
    }

    pub(super) fn dump_sites(
        &self,
        jni: Jni<'_>,
        tracker: &AllocationTracker,
        moment: Moment,
        request: SitesRequest,
        collect: bool,
    ) {
        let report = match tracker.report(jni, moment, collect) {
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
