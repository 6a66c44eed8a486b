//! `cpu=samples`: the stacks that use CPU time.
//!
//! A sampler charges samples to traces. `asynchronous` interrupts threads as they use the CPU; `jvmti` needs nothing
//! but JVMTI. `choice` chooses between them.

mod account;
mod asynchronous;
mod choice;
mod context_sampler;
pub(super) mod counts;
mod ended_threads;
mod inlining_notes;
mod jvmti;
pub(super) mod report;
mod sampled_threads;
mod stand_ins;
mod tally;
mod vm_threads;

use std::sync::Arc;
use std::time::Duration;

use super::{Context, Engine, Report, Reporter, ReporterWithoutVm, Requirement, ThreadWatcher};
use ::jvmti::{Capability, Jni, JvmtiError, Object};
use names::frame::FrameId;
use names::thread::ThreadSerial;
use options::{Cpu, Options};
use output::Journal;
use output::console;

use self::jvmti::JvmtiSampler;
use asynchronous::{AsyncSampler, SampleTarget};
use counts::{CountedSamples, SampleCounts};
use report::Section;

pub use choice::{SamplingMethod, SamplingMethodRefused};
pub use context_sampler::ContextSampler;

/// The reasons why CPU time has no stack, besides those that a walk gives.
const IN_ENDED_THREAD: &str = "in a thread that ended";
const NO_JAVA: &str = "in a thread without Java frames";
const LOST: &str = "in samples that were lost";
const NAMELESS: &str = "in methods without names at the end";

/// A method of taking CPU samples. Threads are registered before they are sampled.
trait Sampler: Send + Sync {
    /// Begins sampling; called once, when the VM is up.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError>;

    /// Called when a thread of the program has been registered.
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial);

    /// Called when the current thread is about to end.
    fn current_thread_ended(&self, serial: ThreadSerial);

    /// Forgets a thread that ended while it was registered, without charging it.
    fn thread_gone(&self, serial: ThreadSerial);

    /// Turns sampling of a thread on or off; `None` means all threads, including future ones. CPU time used while it is
    /// off is charged to nobody. Returns `false` if there is no such thread.
    fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool;

    /// Charges the time used up to now, and takes no sample after it returns; called once, on a thread that is not the
    /// sampler's. Never waits indefinitely.
    fn stop(&self, jni: Jni<'_>);

    /// Returns `true` if the sampler needs to know which virtual threads are mounted.
    fn tells_virtual_threads_apart(&self) -> bool {
        false
    }

    /// Notes that the current thread now carries that virtual thread, or none.
    fn current_thread_carries(&self, _virtual_thread: Option<ThreadSerial>) {}

    /// Counts the samples taken up to now. Without the VM, new frames have no names.
    fn fetch(&self, _jni: Option<Jni<'_>>) {}

    /// Returns the outcome of the samples, for the user.
    fn outcome(&self) -> String;

    /// Returns the number of intervals whose samples were lost.
    fn lost(&self) -> u64 {
        0
    }
}

/// The engine of `cpu=samples`.
pub struct CpuSamples {
    sampler: Box<dyn Sampler>,
    method: SamplingMethod,
    counts: Arc<SampleCounts>,
    interval: Duration,
    cutoff: f64,
    /// See [`Context::folded`].
    folded: Option<FrameId>,
    /// `true` if stderr gets a line about samples that were lost.
    tells_losses: bool,
    /// `true` if stderr gets a line about how the samples were taken.
    tells_outcome: bool,
}

/// Returns the capabilities that `cpu=samples` needs.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    (options.cpu == Some(Cpu::Samples)).then_some(Requirement {
        option: "cpu=samples",
        capabilities: &[Capability::ThreadCpuTime],
    })
}

impl CpuSamples {
    /// Creates the engine; `None` if the options request no samples.
    pub(super) fn new(context: &Context, method: Option<SamplingMethod>) -> Option<Self> {
        let options = &context.options;
        if options.cpu != Some(Cpu::Samples) {
            return None;
        }
        let counts = Arc::new(SampleCounts::new(context.keeps_times()));
        let method = method?;
        let sampler: Box<dyn Sampler> = match method.clone() {
            SamplingMethod::Async(support) => Box::new(AsyncSampler::new(
                context,
                support,
                counts.clone(),
                SampleTarget::Stacks,
            )),
            SamplingMethod::Jvmti(_) => Box::new(JvmtiSampler::new(context, counts.clone())),
        };
        Some(Self {
            sampler,
            method,
            counts,
            interval: options.interval,
            cutoff: options.cutoff,
            folded: context.folded(),
            // Not with every snapshot.
            tells_losses: options.live.is_none(),
            tells_outcome: options.details,
        })
    }

    /// See [`Sampler::switch`].
    pub fn switch(&self, thread: Option<ThreadSerial>, on: bool) -> bool {
        self.sampler.switch(thread, on)
    }

    /// Returns `true` if [`CpuSamples::current_thread_carries`] has any effect.
    pub fn tells_virtual_threads_apart(&self) -> bool {
        self.sampler.tells_virtual_threads_apart()
    }

    /// Notes that the current thread now carries that virtual thread, or none.
    pub fn current_thread_carries(&self, virtual_thread: Option<ThreadSerial>) {
        self.sampler.current_thread_carries(virtual_thread);
    }

    /// Writes the samples counted so far, without resetting them.
    pub fn report_so_far(&self, journal: &Journal, cutoff: f64) {
        self.section_of(cutoff, self.folded)
            .write(journal, self.counts.get());
    }

    /// Resets the counts.
    pub fn clear(&self) {
        self.counts.take();
    }
}

/// Answers a receiver's request for samples in a run that takes none.
pub fn report_nothing(journal: &Journal) {
    let section = Section {
        interval: Duration::ZERO,
        cutoff: 0.0,
        folded: None,
        is_snapshot: false,
    };
    section.write(journal, CountedSamples::none());
}

impl Engine for CpuSamples {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.sampler.start(jni)
    }

    fn stop(&self, jni: Jni<'_>) {
        self.sampler.stop(jni);
    }
}

impl ThreadWatcher for CpuSamples {
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.sampler.thread_registered(jni, thread, serial);
    }

    fn current_thread_ended(&self, serial: Option<ThreadSerial>) {
        if let Some(serial) = serial {
            self.sampler.current_thread_ended(serial);
        }
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        self.sampler.thread_gone(serial);
    }
}

impl Reporter for CpuSamples {
    fn section(&self) -> Option<&'static str> {
        Some("CPU usage by sampling running threads")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.sampler.fetch(Some(jni));
        self.report_counts(report);
    }
}

impl ReporterWithoutVm for CpuSamples {
    fn report_without_vm(&self, report: &Report<'_>) {
        self.sampler.fetch(None);
        self.report_counts(report);
    }

    fn report_known(&self, journal: &Journal, least: f64) {
        let cutoff = self.cutoff.max(least);
        let section = Section {
            is_snapshot: true,
            ..self.section_of(cutoff, None)
        };
        section.write(journal, self.counts.get());
    }
}

impl CpuSamples {
    fn section_of(&self, cutoff: f64, folded: Option<FrameId>) -> Section {
        Section {
            interval: self.interval,
            cutoff,
            folded,
            is_snapshot: false,
        }
    }

    /// Writes the samples that have been counted.
    fn report_counts(&self, report: &Report<'_>) {
        if self.tells_outcome {
            report.say(&format!("{}; {}", self.method, self.sampler.outcome()));
        }
        if self.tells_losses && self.sampler.lost() > 0 {
            console::line(format_args!(
                "cpu=samples: {} samples were lost, they are charged as <unsampled>",
                self.sampler.lost()
            ));
        }
        let samples = match report.totals.start_anew() {
            true => self.counts.take(),
            false => self.counts.get(),
        };
        self.section_of(self.cutoff, self.folded)
            .write(report.journal, samples);
    }
}
