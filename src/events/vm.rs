//! The VM's life: up, asked for a dump, down.

use super::Handlers;
use crate::console;
use crate::jvmti::{Event, Jni, JvmtiError, Object};
use crate::snapshot;

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
        self.sampler
            .as_ref()
            .map_or(Ok(()), |sampler| sampler.start(jni))
    }

    pub(super) fn on_data_dump_request(&self) {
        self.dump();
        self.journal.flush();
    }

    pub(super) fn on_vm_death(&self, jni: Jni<'_>) {
        if let Some(sampler) = &self.sampler {
            sampler.stop(jni);
        }
        if self.plan.on_exit && !self.is_quiet() {
            self.dump();
        }
        (self.closed)(self.journal.close());
    }

    fn dump(&self) {
        // Dumps stand one after the other.
        let _dumping = self.dumping.lock();
        if self.sampler.is_none() {
            return;
        }
        let say = |text: &str| {
            if self.plan.verbose {
                console::plain(format_args!("{text}"));
            }
        };
        say("Dumping CPU usage by sampling running threads ...");
        snapshot::cpu_samples(&self.journal, self.plan.cutoff);
        say(" done.\n");
    }
}
