//! A dump of the profile: the sections of all engines.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::time::Duration;

use super::state::Session;
use crate::engines::{Engine, Moment, Report, Totals};
use jvmti::{Jni, Panicked, caught};
use locks::{MutexGuard, rank};
use memory::OutOfMemory;
use options::Format;
use output::console;

/// The longest that the dump at the end of the program waits for another.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Session {
    /// Writes a dump while the program continues; `forks` if the heap is to be dumped in a forked child. Waits for a dump
    /// that is being written. Returns how the heap was dumped, if it was.
    pub(super) fn dump_on_request(
        &self,
        jni: Jni<'_>,
        totals: Totals,
        forks: bool,
    ) -> Option<String> {
        let report = Report {
            forks,
            ..self.report(Moment::Running, totals)
        };
        {
            let _dumping = self.dumping.lock();
            let _own = self.exhaustions.of_the_agent();
            self.write(jni, &report);
        }
        // The user who asked for the dump looks at the file next.
        self.context.journal.drain();
        report.heap_dump.take()
    }

    /// Writes the dump at the end of the program. A dump on request may be waiting for a collection that never comes,
    /// because some garbage collectors stop before VMDeath is sent. The end of the program does not wait for that one.
    pub(super) fn dump_at_death(&self, jni: Jni<'_>) {
        let Some(_dumping) = self.wait_for_dumps(TIMEOUT) else {
            return self.leave_dump_out();
        };
        self.dump(jni, Moment::Death, Totals::Keep);
    }

    pub(super) fn leave_dump_out(&self) {
        console::line(format_args!(
            "a dump on request is still going on; this one is left out"
        ));
        self.engines.iter().for_each(Engine::abandon_report);
    }

    /// Writes a dump. Called with `dumping` held: dumps never mix.
    ///
    /// The words are the original's, which scripts look for. The line is written twice, whole each time: pieces would
    /// mix with the program's own output.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment, totals: Totals) {
        self.write(jni, &self.report(moment, totals));
    }

    /// As [`Session::dump`], for a report that says more.
    pub(super) fn write(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.threads.look_at_names(jni);
        self.write_sections(
            report,
            |engine| engine.section(),
            |engine| {
                engine.report(jni, report);
            },
        );
    }

    /// Writes the engines' sections that `section` selects, using `write`.
    pub(super) fn write_sections(
        &self,
        report: &Report<'_>,
        section: impl Fn(&dyn Engine) -> Option<&'static str>,
        write: impl Fn(&dyn Engine),
    ) {
        let sections: Vec<&str> = self.engines.iter().filter_map(&section).collect();
        if sections.is_empty() {
            return;
        }
        let dumping = format!("Dumping {} ...", sections.join(" ... "));
        report.say(&dumping);
        // A heap dump says which ids the classes have in it, and readers use the first that they see.
        let is_binary = self.context.options.format == Format::Binary;
        let comes_first = |engine: &&dyn Engine| !is_binary || engine.numbers_classes();
        let (first, others): (Vec<&dyn Engine>, Vec<_>) = self
            .engines
            .iter()
            .filter(|&engine| section(engine).is_some())
            .partition(comes_first);
        for engine in first.into_iter().chain(others) {
            if caught(|| write(engine)).is_err() {
                report.failed.set(true);
                if !memory::is_out() {
                    // The panic goes on, without being reported again.
                    resume_unwind(Box::new(Panicked));
                }
                let section = section(engine).unwrap_or_default();
                console::line(format_args!("{OutOfMemory}: {section} is left out"));
            }
        }
        if report.verbose {
            let is_sound = self.context.journal.drain() && !report.failed.get();
            let outcome = if is_sound { "done" } else { "failed" };
            report.say(&format!("{dumping} {outcome}."));
        }
    }

    pub(super) fn report(&self, moment: Moment, totals: Totals) -> Report<'_> {
        Report {
            journal: &self.context.journal,
            moment,
            totals,
            threads: &self.threads,
            verbose: self.context.options.verbose && !self.is_live(),
            failed: Cell::new(false),
            forks: false,
            heap_dump: Cell::new(None),
        }
    }

    /// Waits for another dump before the end of the program, as long as that one makes progress.
    pub(super) fn wait_for_dumps(
        &self,
        timeout: Duration,
    ) -> Option<MutexGuard<'_, (), rank::Dumping>> {
        let mut segments = self.context.journal.segments();
        loop {
            let dumping = self.dumping.try_lock_for(timeout);
            let before = std::mem::replace(&mut segments, self.context.journal.segments());
            if dumping.is_some() || segments == before {
                return dumping;
            }
        }
    }
}
