//! `cpu=samples`: who uses the CPU, and where.
//!
//! A sampler charges samples to traces. `asynchronous` interrupts threads as they use the CPU; `jvmti` needs nothing but JVMTI.
//! `choice` says which it is.

mod account;
mod asynchronous;
mod choice;
mod counts;
mod inlining_notes;
mod jvmti;
mod report;
mod vm_threads;

use std::sync::Arc;

use super::{Context, Engine, Report, Requirement};
use crate::console;
use crate::jvmti::{Capability, Jni, JvmtiError, Object};
use crate::names::thread::ThreadSerial;
use crate::options::{Cpu, Options};
use crate::output::Journal;

use asynchronous::AsyncSampler;
use counts::SampleCounts;
use jvmti::JvmtiSampler;

pub use choice::{SamplingMethod, SamplingMethodRefused};

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

    /// Whether it wants to be told which virtual threads are carried.
    fn tells_virtual_threads_apart(&self) -> bool {
        false
    }

    /// The current thread carries that virtual thread from now on, or none.
    fn current_thread_carries(&self, _virtual_thread: Option<ThreadSerial>) {}

    /// Counts the samples that have been taken up to now. Without the VM, frames that are new have no names.
    fn fetch(&self, _jni: Option<Jni<'_>>) {}

    /// What became of the samples, for people.
    fn outcome(&self) -> String;

    /// Intervals whose samples were lost.
    fn lost(&self) -> u64 {
        0
    }
}

/// The engine of `cpu=samples`.
pub struct CpuSamples {
    sampler: Box<dyn Sampler>,
    method: SamplingMethod,
    counts: Arc<SampleCounts>,
    cutoff: f64,
    /// Whether stderr says how the samples were taken.
    tells_outcome: bool,
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
    pub(super) fn new(context: &Context, method: Option<SamplingMethod>) -> Option<Self> {
        let options = &context.options;
        if options.cpu != Some(Cpu::Samples) {
            return None;
        }
        let counts = Arc::new(SampleCounts::default());
        let method = method?;
        let sampler: Box<dyn Sampler> = match method.clone() {
            SamplingMethod::Async(support) => {
                Box::new(AsyncSampler::new(context, support, counts.clone()))
            }
            SamplingMethod::Jvmti(_) => Box::new(JvmtiSampler::new(context, counts.clone())),
        };
        Some(Self {
            sampler,
            method,
            counts,
            cutoff: options.cutoff,
            tells_outcome: options.details,
        })
    }

    /// See [`Sampler::switch`].
    pub fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool {
        self.sampler.switch(thread, on)
    }

    /// Whether [`CpuSamples::current_thread_carries`] is of use.
    pub fn tells_virtual_threads_apart(&self) -> bool {
        self.sampler.tells_virtual_threads_apart()
    }

    /// The current thread carries that virtual thread from now on, or none.
    pub fn current_thread_carries(&self, virtual_thread: Option<ThreadSerial>) {
        self.sampler.current_thread_carries(virtual_thread);
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

/// What a run that takes no samples answers a receiver who asks for them.
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

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.sampler.fetch(Some(jni));
        self.report_counts(report);
    }

    fn report_without_vm(&self, report: &Report<'_>) {
        self.sampler.fetch(None);
        self.report_counts(report);
    }
}

impl CpuSamples {
    /// Writes the samples that have been counted.
    fn report_counts(&self, report: &Report<'_>) {
        if self.tells_outcome {
            report.say(&format!("{}; {}", self.method, self.sampler.outcome()));
        }
        if self.sampler.lost() > 0 {
            console::line(format_args!(
                "cpu=samples: {} samples were lost, they are charged as <unsampled>",
                self.sampler.lost()
            ));
        }
        let samples = match report.totals.start_anew() {
            true => self.counts.take(),
            false => self.counts.get(),
        };
        report::cpu_samples(report.journal, samples, self.cutoff);
    }
}
