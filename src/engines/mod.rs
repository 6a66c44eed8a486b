//! One folder per measurement: `cpu_samples` is `cpu=samples`, `cpu_times` is `cpu=times|old`, `allocations` is
//! `heap=sites`, `heap_dump` is `heap=dump`, `monitors` is `monitor=y`, `wall_samples` is `wall=`,
//! `native_memory` is `native=malloc`. Each holds the engine, its counters and the
//! records it reports.
//!
//! `engine` has the trait they share, and `context` the parts of the agent they use; this file lists them. `gc` knows the
//! limits of garbage collectors; `folding` adds small rows of a table up; `sample_times` knows when samples were taken; `sampled_frames` names
//! their frames; `worker` is a
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
mod sampled_frames;
mod wall_samples;
mod worker;

use std::sync::Arc;

use options::Options;

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

pub use engine::{Engine, Moment, Report, ThreadSerials, Totals};

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
    /// All of them, in the order of their sections.
    all: Vec<Arc<dyn Engine>>,
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
        let mut engines = Self {
            allocations: AllocationTracker::new(context).map(Arc::new),
            cpu_samples: CpuSamples::new(context, sampling_method.clone()).map(Arc::new),
            cpu_times: MethodTimer::new(context, sampling_method).map(Arc::new),
            monitors: MonitorWatch::new(context).map(Arc::new),
            ..Self::default()
        };
        engines.heap_dump = HeapDumps::new(context, engines.allocations.clone()).map(Arc::new);
        engines.all = [
            engine(&engines.monitors),
            engine(&engines.heap_dump),
            engine(&engines.allocations),
            engine(&NativeMemory::new(context).map(Arc::new)),
            engine(&engines.cpu_samples),
            engine(&WallSampler::new(context).map(Arc::new)),
            engine(&engines.cpu_times),
        ]
        .into_iter()
        .flatten()
        .collect();
        engines
    }

    /// Iterates over all engines, in the order of their sections. They are started in reverse order, so that
    /// allocations are tracked only after the agent itself has made the other engines' objects.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &dyn Engine> {
        self.all.iter().map(|engine| &**engine)
    }
}

fn engine<E: Engine + 'static>(engine: &Option<Arc<E>>) -> Option<Arc<dyn Engine>> {
    engine.clone().map(|engine| engine as Arc<dyn Engine>)
}
