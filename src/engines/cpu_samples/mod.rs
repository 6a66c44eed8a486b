//! `cpu=samples`: who uses the CPU, and where.
//!
//! A sampler charges samples to traces. `jvmti` needs nothing but JVMTI.

mod account;
mod counts;
mod jvmti;
mod report;

use std::sync::Arc;

use super::{Context, Engine, Report, Requirement};
use crate::jvmti::{Capability, Jni, JvmtiError, Object};
use crate::names::thread::ThreadSerial;
use crate::options::{Cpu, Options};
use crate::output::Journal;

use counts::SampleCounts;
use jvmti::JvmtiSampler;

/// A way to take CPU samples. Threads are registered before they are sampled.
trait Sampler: Send + Sync {
    /// Begins; called once, when the VM is up.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError>;

    /// A thread of the program is there.
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial);

    /// The current thread is about to end.
    fn current_thread_ended(&self, serial: ThreadSerial);

    /// Samples a thread from now on, or no longer; `None` stands for all, those that are still to come included. CPU time
    /// that is used meanwhile is charged to nobody. `false` where there is no such thread.
    fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool;

    /// Charges what has been used up to now and takes no sample after it returned; called once, by no thread of the
    /// sampler. Does not wait for ever.
    fn stop(&self, jni: Jni<'_>);
}

/// The engine of `cpu=samples`.
pub struct CpuSamples {
    sampler: Box<dyn Sampler>,
    counts: Arc<SampleCounts>,
    cutoff: f64,
}

/// What `cpu=samples` needs of the VM.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    (options.cpu == Some(Cpu::Samples)).then_some(Requirement {
        option: "cpu=samples",
        capabilities: &[Capability::ThreadCpuTime],
    })
}

impl CpuSamples {
    /// `None` where no samples are asked for.
    pub(super) fn new(context: &Context<'_>) -> Option<Self> {
        let options = context.options;
        if options.cpu != Some(Cpu::Samples) {
            return None;
        }
        let counts = Arc::new(SampleCounts::default());
        Some(Self {
            sampler: Box::new(JvmtiSampler::new(context, counts.clone())),
            counts,
            cutoff: options.cutoff,
        })
    }

    /// See [`Sampler::switch`].
    pub fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool {
        self.sampler.switch(thread, on)
    }

    /// Writes the samples counted so far, and goes on counting.
    pub fn report_so_far(&self, journal: &Journal, cutoff: f64) {
        report::cpu_samples(journal, self.counts.get(), cutoff);
    }

    /// Counts from nothing.
    pub fn clear(&self) {
        self.counts.take();
    }
}

/// What a run that takes no samples answers a collector who asks for them.
pub fn report_nothing(journal: &Journal) {
    report::cpu_samples(journal, Default::default(), 0.0);
}

impl Engine for CpuSamples {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.sampler.start(jni)
    }

    fn stop(&self, jni: Jni<'_>) {
        self.sampler.stop(jni);
    }

    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.sampler.thread_registered(jni, thread, serial);
    }

    fn current_thread_ended(&self, serial: Option<ThreadSerial>) {
        if let Some(serial) = serial {
            self.sampler.current_thread_ended(serial);
        }
    }

    fn section(&self) -> Option<&'static str> {
        Some("CPU usage by sampling running threads")
    }

    fn report(&self, _jni: Jni<'_>, report: &Report<'_>) {
        let samples = match report.totals.start_anew() {
            true => self.counts.take(),
            false => self.counts.get(),
        };
        report::cpu_samples(report.journal, samples, self.cutoff);
    }
}
