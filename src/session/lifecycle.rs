//! The VM's life, as far as the agent is in it: it begins, is asked for a dump, ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::MutexGuard;

use super::Handlers;
use crate::console;
use crate::engines::allocations::Moment;
use crate::jvmti::{Event, Jni, JvmtiError, Object};
use crate::names::cost::Totals;

/// How long the dump at the end of the program waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the agent has begun. The VM may ask for a dump before: its signal thread runs beside VMInit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beginning {
    /// No dump can be made yet.
    #[default]
    Ahead,
    /// As above, and one has been asked for.
    DumpAsked(Totals),
    /// Dumps are made at once.
    Done,
}

impl Handlers {
    /// Main first, so that it has the first number.
    pub(super) fn on_vm_init(&self, jni: Jni<'_>, main: Object<'_>) {
        self.register(jni, main);
        if let Err(error) = self.begin(jni) {
            console::line(format_args!(
                "{error}; there will be no profile, the program goes on"
            ));
        }
        self.begun(jni);
    }

    /// The agent came to a VM that is up.
    pub(super) fn on_attach(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.begin(jni)?;
        self.begun(jni);
        Ok(())
    }

    /// From here on dumps are made when they are asked for.
    fn begun(&self, jni: Jni<'_>) {
        let before = std::mem::replace(&mut *self.beginning.lock(), Beginning::Done);
        if let Beginning::DumpAsked(totals) = before {
            self.dump_on_request(jni, totals);
        }
    }

    /// What VMInit and attaching to a VM that is up have in common. The events come first, then the threads that were
    /// there before.
    ///
    /// Who attaches right at the start gets VMInit as well: the VM answers requests a moment before.
    fn begin(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
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
        if let Some(timer) = &self.timer {
            timer.start(jni)?;
        }
        if let Some(monitors) = &self.monitors {
            monitors.start()?;
        }
        // Last: what the agent itself causes to be made is not the program's.
        if let Some(tracker) = &self.tracker
            && !tracker.start(jni)?
        {
            console::line(format_args!(
                "threads that run already may make half a megabyte of objects each before they are seen"
            ));
        }
        if let Some(listener) = &self.listener {
            listener.start(&self.agent_threads, self.env, jni)?;
        }
        // Whoever looks sees that somebody is there, and no longer what the file held before.
        self.journal.flush();
        Ok(())
    }

    /// A dump is asked for while the program runs.
    pub(super) fn on_dump_request(&self, totals: Totals) {
        let Some(jni) = self.env.current_jni() else {
            return;
        };
        {
            let mut beginning = self.beginning.lock();
            if *beginning != Beginning::Done {
                *beginning = Beginning::DumpAsked(totals);
                return;
            }
        }
        self.dump_on_request(jni, totals);
    }

    fn dump_on_request(&self, jni: Jni<'_>, totals: Totals) {
        let _dumping = self.dumping.lock();
        self.dump(jni, Moment::Running, totals);
        self.journal.flush();
    }

    pub(super) fn on_vm_death(&self, jni: Jni<'_>) {
        self.end(jni);
        if self.plan.on_exit && !self.is_quiet() {
            self.dump_at_death(jni);
        }
        self.close();
    }

    /// The profile ends, the program goes on. `doe=n` speaks of the program's end: who stops a profile wants it.
    pub(super) fn on_stop(&self, jni: Jni<'_>) -> bool {
        self.end(jni);
        if !self.is_quiet() {
            let _dumping = self.dumping.lock();
            self.dump(jni, Moment::Running, Totals::Kept);
        }
        let is_sound = self.close();
        self.give_back(jni);
        is_sound && !self.is_quiet()
    }

    /// What VMDeath and a stop have in common: nothing is measured any more, and the threads of the engines have ended.
    fn end(&self, jni: Jni<'_>) {
        self.journal.hurry();
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(sampler) = &self.sampler {
            sampler.stop(jni);
        }
        if let Some(timer) = &self.timer {
            timer.stop();
        }
        if let Some(monitors) = &self.monitors {
            monitors.stop();
        }
    }

    /// Closes the output; `false` if not all could be written.
    fn close(&self) -> bool {
        self.journal.ended_after(self.about.since.elapsed());
        let is_sound = self.journal.close();
        if let Some(listener) = &self.listener {
            listener.finish();
        }
        (self.closed)(is_sound);
        is_sound
    }

    /// For a VM that goes on: the engines give back what they hold of it and do not free by being dropped.
    fn give_back(&self, jni: Jni<'_>) {
        if let Some(tracker) = &self.tracker {
            tracker.give_back(jni);
        }
        if let Some(timer) = &self.timer
            && let Err(error) = timer.uninstall(jni)
        {
            console::line(format_args!("{error}; some methods go on counting"));
        }
        if let Some(monitors) = &self.monitors {
            monitors.forget();
        }
    }

    /// One on request may be waiting for a collection that never comes: some collectors stop before VMDeath is told. The
    /// end of the program does not wait for that.
    fn dump_at_death(&self, jni: Jni<'_>) {
        let Some(_dumping) = self.wait_for_dumps() else {
            console::line(format_args!(
                "a dump on request is still going on; this one is left out"
            ));
            if let Some(dumpers) = &self.dumpers {
                dumpers.abandon();
            }
            return;
        };
        self.dump(jni, Moment::Death, Totals::Kept);
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
