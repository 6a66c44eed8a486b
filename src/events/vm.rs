//! The VM's life: up, asked for a dump, down.

use std::time::Duration;

use super::Handlers;
use crate::console;
use crate::engines::alloc::{AllocationTracker, Moment, Report};
use crate::jvmti::{Event, Jni, JvmtiError, Object};
use crate::snapshot::{self, HeapState, SitesRequest};

/// How long the dump at the end of the program waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the agent has begun. The VM may ask for a dump before: its signal thread runs beside VMInit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beginning {
    /// No dump can be made yet.
    #[default]
    Ahead,
    /// As above, and one has been asked for.
    DumpAsked,
    /// Dumps are made at once.
    Done,
}

impl Handlers {
    pub(super) fn on_vm_init(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Err(error) = self.begin(jni, thread) {
            console::line(format_args!(
                "{error}; there will be no profile, the program goes on"
            ));
        }
        let before = std::mem::replace(&mut *self.beginning.lock(), Beginning::Done);
        if before == Beginning::DumpAsked {
            self.dump_on_request(jni);
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
        if let Some(monitors) = &self.monitors {
            monitors.start()?;
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
        {
            let mut beginning = self.beginning.lock();
            if *beginning != Beginning::Done {
                *beginning = Beginning::DumpAsked;
                return;
            }
        }
        self.dump_on_request(jni);
    }

    fn dump_on_request(&self, jni: Jni<'_>) {
        let _dumping = self.dumping.lock();
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
        if let Some(monitors) = &self.monitors {
            monitors.stop();
        }
        if self.plan.on_exit && !self.is_quiet() {
            self.dump_at_death(jni);
        }
        if let Some(monitors) = &self.monitors {
            monitors.forget();
        }
        (self.closed)(self.journal.close());
    }

    /// One on request may be waiting for a collection that never comes: some collectors stop before VMDeath is told. The
    /// end of the program does not wait for it.
    fn dump_at_death(&self, jni: Jni<'_>) {
        let Some(_dumping) = self.dumping.try_lock_for(PATIENCE) else {
            console::line(format_args!(
                "a dump on request is still going on; this one is left out"
            ));
            return;
        };
        self.dump(jni, Moment::Death);
    }

    /// Called with `dumping` held: dumps stand one after the other.
    fn dump(&self, jni: Jni<'_>, moment: Moment) {
        if self.tracker.is_none() && self.sampler.is_none() && self.monitors.is_none() {
            return;
        }
        self.say("Dumping");
        if let Some(monitors) = &self.monitors {
            self.say(" contended monitor usage ...");
            self.dump_monitors(jni, monitors);
        }
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
