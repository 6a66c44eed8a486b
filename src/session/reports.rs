//! A dump of the profile: the sections of all engines.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::time::Duration;

use super::state::Session;
use crate::engines::{Moment, Report, Reporter, Totals};
use jvmti::{Jni, Panicked, caught};
use locks::{MutexGuard, rank};
use memory::OutOfMemory;
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
            let _dumping = self.dumps.lock();
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
            "another requested dump is still running; this one is skipped"
        ));
        if let Some(heap_dump) = &self.engines.heap_dump {
            heap_dump.abandon();
        }
    }

    /// Writes a dump. Called with `dumps` locked: dumps never mix.
    ///
    /// The words are the original's, which scripts look for. The line is written twice, whole each time: pieces would
    /// mix with the program's own output.
    pub(super) fn dump(&self, jni: Jni<'_>, moment: Moment, totals: Totals) {
        self.write(jni, &self.report(moment, totals));
    }

    /// As [`Session::dump`], for a report that says more.
    pub(super) fn write(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.threads.look_at_names(jni);
        let reporters = self.engines.reporters();
        self.write_sections(report, reporters, |reporter| reporter.report(jni, report));
    }

    /// Writes the sections of `reporters`, using `write`.
    pub(super) fn write_sections<'a, R: Reporter + ?Sized + 'a>(
        &self,
        report: &Report<'_>,
        reporters: impl Iterator<Item = &'a R>,
        write: impl Fn(&R),
    ) {
        let with_section = |reporter: &'a R| Some((reporter.section()?, reporter));
        let sections: Vec<_> = reporters.filter_map(with_section).collect();
        if sections.is_empty() {
            return;
        }
        let names: Vec<&str> = sections.iter().map(|&(name, _)| name).collect();
        let dumping = format!("Dumping {} ...", names.join(" ... "));
        report.say(&dumping);
        for (section, reporter) in sections {
            if caught(|| write(reporter)).is_err() {
                report.failed.set(true);
                if !memory::is_out() {
                    // The panic continues, without being reported again.
                    resume_unwind(Box::new(Panicked));
                }
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
            let dumping = self.dumps.try_lock_for(timeout);
            let before = std::mem::replace(&mut segments, self.context.journal.segments());
            if dumping.is_some() || segments == before {
                return dumping;
            }
        }
    }
}
