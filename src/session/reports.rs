//! A dump of the profile: the sections of all engines.

use std::time::Duration;

use parking_lot::MutexGuard;

use super::Session;
use crate::console;
use crate::engines::{Engine, Moment, Report};
use crate::jvmti::Jni;

/// How long the dump at the end of the program waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

impl Session {
    /// Writes a dump while the program goes on, after one that is being written.
    pub(super) fn dump_on_request(&self, jni: Jni<'_>) {
        {
            let _dumping = self.dumping.lock();
            self.dump(jni, Moment::Running);
        }
        self.journal.flush();
    }

    /// One on request may be waiting for a collection that never comes: some collectors stop before VMDeath is told. The
    /// end of the program does not wait for that.
    pub(super) fn dump_at_death(&self, jni: Jni<'_>) {
        let Some(_dumping) = self.wait_for_dumps() else {
            console::line(format_args!(
                "a dump on request is still going on; this one is left out"
            ));
            self.engines.iter().for_each(Engine::abandon_report);
            return;
        };
        self.dump(jni, Moment::Death);
    }

    /// Called with `dumping` held: dumps stand one after the other.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment) {
        let report = self.report(moment);
        let reports: Vec<_> = self
            .engines
            .iter()
            .filter(|engine| engine.has_report())
            .collect();
        if reports.is_empty() {
            return;
        }
        report.say("Dumping");
        for engine in reports {
            engine.report(jni, &report);
        }
        report.say(" done.\n");
    }

    pub(super) fn report(&self, moment: Moment) -> Report<'_> {
        Report {
            journal: &self.journal,
            moment,
            threads: &self.threads,
            verbose: self.verbose,
        }
    }

    /// The end of the program waits only for a dump that gets on.
    fn wait_for_dumps(&self) -> Option<MutexGuard<'_, ()>> {
        let mut segments = self.journal.segments();
        loop {
            let dumping = self.dumping.try_lock_for(PATIENCE);
            let before = std::mem::replace(&mut segments, self.journal.segments());
            if dumping.is_some() || segments == before {
                return dumping;
            }
        }
    }
}
