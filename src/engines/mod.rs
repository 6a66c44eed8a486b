//! One folder per measurement: `cpu_samples` is `cpu=samples`, `cpu_times` is `cpu=times|old`, `allocations` is `heap=sites`,
//! `heap_dump` is `heap=dump`, `monitors` is `monitor=y`. Each holds the engine, its counters and the records it reports.
//!
//! `engine` is what all of them are to a session; this file lists them. `gc` says which garbage collectors refuse
//! what; `worker` is an agent thread inside the VM.

pub mod allocations;
pub mod cpu_samples;
pub mod cpu_times;
mod engine;
mod gc;
pub mod heap_dump;
pub mod monitors;
mod worker;

use std::path::Path;
use std::sync::Arc;

use crate::jvmti::{AgentThreads, Capability, Env, RegisteredThreads, VirtualThreads};
use crate::names::Tables;
use crate::options::Options;
use crate::output::Journal;
use crate::stacks::{Stacks, TopFrames};

use allocations::AllocationTracker;
use cpu_samples::CpuSamples;
pub use cpu_samples::{SamplingMethod, SamplingMethodRefused};
use cpu_times::MethodTimer;
use heap_dump::HeapDumps;
use monitors::MonitorWatch;

pub use worker::Worker;

pub use engine::{Engine, Moment, Report, ThreadSerials, Totals};

/// What the options need of the VM.
pub struct Requirement {
    /// The option that needs it.
    pub option: &'static str,
    /// What it needs.
    pub capabilities: &'static [Capability],
}

/// What engines are made of.
pub struct Context<'a> {
    /// What the user asked for.
    pub options: &'a Options,
    /// The VM.
    pub env: Env,
    /// Its virtual threads, where it has them.
    pub virtual_threads: Option<VirtualThreads>,
    /// The agent's own threads.
    pub agent_threads: Arc<AgentThreads>,
    /// The threads that have a serial number.
    pub registered: Arc<RegisteredThreads>,
    /// What the agent has learned of the program.
    pub tables: Arc<Tables>,
    /// Takes and names stacks.
    pub stacks: Arc<Stacks>,
    /// Looks at stacks where that happens millions of times.
    pub top_frames: Arc<TopFrames>,
    /// For records that are written as things happen.
    pub journal: Arc<Journal>,
    /// How CPU samples are taken.
    pub sampling_method: Option<SamplingMethod>,
    /// The path beside which temporary files may be put.
    pub path: &'a Path,
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
    /// `heap=dump|all`, and wherever a receiver may ask for a dump.
    pub heap_dump: Option<Arc<HeapDumps>>,
    /// `monitor=y`.
    pub monitors: Option<Arc<MonitorWatch>>,
    /// All of them, in the order in which their sections stand.
    all: Vec<Arc<dyn Engine>>,
}

/// What the options need of the VM, engine by engine.
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
    /// The engines that the options ask for.
    pub fn new(context: &Context<'_>) -> Self {
        let mut engines = Self {
            allocations: AllocationTracker::new(context).map(Arc::new),
            cpu_samples: CpuSamples::new(context).map(Arc::new),
            cpu_times: MethodTimer::new(context).map(Arc::new),
            monitors: MonitorWatch::new(context).map(Arc::new),
            ..Self::default()
        };
        engines.heap_dump = HeapDumps::new(context, engines.allocations.clone()).map(Arc::new);
        engines.all = [
            engine(&engines.monitors),
            engine(&engines.heap_dump),
            engine(&engines.allocations),
            engine(&engines.cpu_samples),
            engine(&engines.cpu_times),
        ]
        .into_iter()
        .flatten()
        .collect();
        engines
    }

    /// All engines, in the order in which their sections stand. They are started in the opposite one: allocations after what
    /// else the agent itself causes to be allocated.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &dyn Engine> {
        self.all.iter().map(|engine| &**engine)
    }
}

fn engine<E: Engine + 'static>(engine: &Option<Arc<E>>) -> Option<Arc<dyn Engine>> {
    engine.clone().map(|engine| engine as Arc<dyn Engine>)
}
