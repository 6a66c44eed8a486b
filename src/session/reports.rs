//! A dump of the profile: the sections of all engines.

use std::cell::Cell;
use std::time::Duration;

use super::Session;
use crate::console;
use crate::engines::{Engine, Moment, Report, Totals};
use crate::jvmti::Jni;
use crate::lock_order::{MutexGuard, rank};

/// How long the dump at the end of the program waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

impl Session {
    /// Writes a dump while the program goes on. Waits for a dump that is being written.
    pub(super) fn dump_on_request(&self, jni: Jni<'_>, totals: Totals) {
        {
            let _dumping = self.dumping.lock();
            self.dump(jni, Moment::Running, totals);
        }
        // The user who asked for the dump looks at the file next.
        self.journal.drain();
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
        self.dump(jni, Moment::Death, Totals::Kept);
    }

    /// Called with `dumping` held: dumps stand one after the other.
    ///
    /// The words are the original's, which scripts look for. The line is written twice, whole each time: pieces would mix
    /// with what the program says meanwhile.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment, totals: Totals) {
        let report = self.report(moment, totals);
        let sections: Vec<&str> = self.engines.iter().filter_map(Engine::section).collect();
        if sections.is_empty() {
            return;
        }
        let dumping = format!("Dumping {} ...", sections.join(" ... "));
        report.say(&dumping);
        let engines = self.engines.iter();
        for engine in engines.filter(|engine| engine.section().is_some()) {
            engine.report(jni, &report);
        }
        if report.verbose {
            let is_sound = self.journal.drain() && !report.failed.get();
            let outcome = if is_sound { "done" } else { "failed" };
            report.say(&format!("{dumping} {outcome}."));
        }
    }

    pub(super) fn report(&self, moment: Moment, totals: Totals) -> Report<'_> {
        Report {
            journal: &self.journal,
            moment,
            totals,
            threads: &self.threads,
            verbose: self.verbose,
            failed: Cell::new(false),
        }
    }

    /// The end of the program waits for another dump only while that one makes progress.
    fn wait_for_dumps(&self) -> Option<MutexGuard<'_, (), rank::Dumping>> {
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
