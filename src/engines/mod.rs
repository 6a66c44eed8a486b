//! One folder per measurement: `cpu_samples` is `cpu=samples`, `cpu_times` is `cpu=times|old`, `allocations` is
//! `heap=sites`, `heap_dump` is `heap=dump`, `monitors` is `monitor=y`, `wall_samples` is `wall=`,
//! `native_memory` is `native=malloc`. Each holds the engine, its counters and the
//! records it reports.
//!
//! `engine` has the trait they share, and `context` the parts of the agent they use; this file lists them. `gc` knows the
//! limits of garbage collectors; `folding` adds small rows of a table up; `sample_times` knows when samples were taken; `worker` is a
//! thread of the agent inside the VM; `live_threads` and `interval_clock` are for samplers of elapsed time.

pub mod allocations;
mod context;
pub mod cpu_samples;
pub mod cpu_times;
mod engine;
mod folding;
mod gc;
pub mod heap_dump;
mod interval_clock;
mod live_threads;
pub mod monitors;
mod native_memory;
mod sample_times;
mod wall_samples;
mod worker;

use std::sync::Arc;

use jvmti::{Jni, JvmtiError};
use options::{Format, Options};

use allocations::AllocationTracker;
use cpu_samples::CpuSamples;
pub use cpu_samples::{SamplingMethod, SamplingMethodRefused};
use cpu_times::MethodTimer;
use heap_dump::HeapDumps;
use monitors::MonitorWatch;
use native_memory::NativeMemory;
use wall_samples::WallSampler;

pub use context::{Context, Requirement};
pub use worker::Worker;

pub use engine::{
    Engine, Moment, Report, Reporter, ReporterWithoutVm, ThreadSerials, ThreadWatcher, Totals,
};

/// Returns a list of those of the given engines that there are.
macro_rules! present {
    ($($engine:ident),*) => {
        [$($engine.clone().map(|engine| engine as Arc<_>)),*].into_iter().flatten().collect()
    };
}

/// The engines of one session, each by its own type for the hot paths.
#[derive(Default)]
pub struct Engines {
    /// `heap=`.
    pub allocations: Option<Arc<AllocationTracker>>,
    /// `cpu=samples`.
    pub cpu_samples: Option<Arc<CpuSamples>>,
    /// `cpu=times|old`.
    pub cpu_times: Option<Arc<MethodTimer>>,
    /// `heap=dump|all`, and in any run with a receiver, which may request a dump.
    pub heap_dump: Option<Arc<HeapDumps>>,
    /// `monitor=y`.
    pub monitors: Option<Arc<MonitorWatch>>,
    /// In the order in which they are started.
    measuring: Vec<Arc<dyn Engine>>,
    thread_watchers: Vec<Arc<dyn ThreadWatcher>>,
    /// In the order of their sections.
    reporters: Vec<Arc<dyn Reporter>>,
    reporters_without_vm: Vec<Arc<dyn ReporterWithoutVm>>,
}

/// Returns the capabilities that the options need, engine by engine.
pub fn requirements(options: &Options) -> Vec<Requirement> {
    [
        cpu_samples::requirement(options),
        cpu_times::requirement(options),
        allocations::requirement(options),
        monitors::requirement(options),
        heap_dump::requirement(options),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Engines {
    /// Creates the engines that the options request.
    ///
    /// `sampling_method` is that of `cpu=samples`; without one no samples are taken.
    pub fn new(context: &Context, sampling_method: Option<SamplingMethod>) -> Self {
        let allocations = AllocationTracker::new(context).map(Arc::new);
        let cpu_samples = CpuSamples::new(context, sampling_method.clone()).map(Arc::new);
        let cpu_times = MethodTimer::new(context, sampling_method).map(Arc::new);
        let heap_dump = HeapDumps::new(context, allocations.clone()).map(Arc::new);
        let monitors = MonitorWatch::new(context).map(Arc::new);
        let native_memory = NativeMemory::new(context).map(Arc::new);
        let wall_samples = WallSampler::new(context).map(Arc::new);
        Self {
            // Allocations come last: what the others make of Java objects to begin is not the program's.
            measuring: present![
                cpu_times,
                wall_samples,
                cpu_samples,
                native_memory,
                monitors,
                allocations
            ],
            thread_watchers: present![
                monitors,
                native_memory,
                cpu_samples,
                wall_samples,
                cpu_times
            ],
            reporters: match context.options.format {
                Format::Text => present![
                    monitors,
                    heap_dump,
                    allocations,
                    native_memory,
                    cpu_samples,
                    wall_samples,
                    cpu_times
                ],
                // A heap dump says which ids the classes have in it, and readers use the first that they see.
                Format::Binary => present![
                    heap_dump,
                    monitors,
                    allocations,
                    native_memory,
                    cpu_samples,
                    wall_samples,
                    cpu_times
                ],
            },
            reporters_without_vm: present![
                monitors,
                allocations,
                native_memory,
                cpu_samples,
                wall_samples,
                cpu_times
            ],
            allocations,
            cpu_samples,
            cpu_times,
            heap_dump,
            monitors,
        }
    }

    /// Starts all engines. One that does not start ends the session.
    pub fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let mut engines = self.measuring.iter();
        engines.try_for_each(|engine| engine.start(jni))
    }

    /// Stops all engines, the last one first.
    pub fn stop(&self, jni: Jni<'_>) {
        let engines = self.measuring.iter().rev();
        engines.for_each(|engine| engine.stop(jni));
    }

    /// Releases what stopped engines hold of the VM, which continues.
    pub fn give_back(&self, jni: Jni<'_>) {
        let engines = self.measuring.iter().rev();
        engines.for_each(|engine| engine.give_back(jni));
    }

    /// Iterates over the engines that follow threads.
    pub fn thread_watchers(&self) -> impl Iterator<Item = &dyn ThreadWatcher> {
        self.thread_watchers.iter().map(|watcher| &**watcher)
    }

    /// Iterates over what a dump consists of, in the order of the sections.
    pub fn reporters(&self) -> impl Iterator<Item = &dyn Reporter> {
        self.reporters.iter().map(|reporter| &**reporter)
    }

    /// Iterates over what a dump consists of where the VM cannot be asked, in the order of the sections.
    pub fn reporters_without_vm(&self) -> impl Iterator<Item = &dyn ReporterWithoutVm> {
        self.reporters_without_vm.iter().map(|reporter| &**reporter)
    }
}
