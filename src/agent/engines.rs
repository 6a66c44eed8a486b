//! From the options to what measures.

use std::path::Path;
use std::sync::Arc;

use crate::engines::allocations::AllocationTracker;
use crate::engines::cpu_samples::{CpuSampler, PortableSampler};
use crate::engines::cpu_times::{self, ClassFilter, MethodTimer, TimerPlan};
use crate::engines::heap_dump::{Dumpers, VmEngine, WalkEngine, Wanted};
use crate::engines::monitors::MonitorWatch;
use crate::jvmti::{AgentThreads, Env, Interval, VirtualThreads};
use crate::names::Tables;
use crate::options::{Clock, Cpu, Dumper, Heap, Options};
use crate::output::Journal;
use crate::session::Engines;
use crate::stacks::{Stacks, TraceShape, VmTopFrames};

/// Makes the engines that the options ask for; `path` is that beside which heap dumps put files aside.
pub(super) fn engines(
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    options: &Options,
    agent_threads: &Arc<AgentThreads>,
    tables: &Arc<Tables>,
    journal: &Arc<Journal>,
    path: &Path,
) -> Engines {
    let shape = TraceShape {
        depth: usize::from(options.depth),
        line_numbers: options.line_numbers,
        threads: options.threads,
    };
    let journal = journal.clone();
    let class_unloaded = Box::new(move |class| journal.class_unloaded(class));
    let stacks = Arc::new(Stacks::new(env, tables.clone(), shape, class_unloaded));
    let sampler = (options.cpu == Some(Cpu::Samples)).then(|| {
        Box::new(PortableSampler::new(
            env,
            agent_threads.clone(),
            virtual_threads,
            stacks.clone(),
            tables.clone(),
            options.interval,
        )) as Box<dyn CpuSampler>
    });
    let tracker = options.heap.map(|_| {
        AllocationTracker::new(
            env,
            agent_threads.clone(),
            stacks.clone(),
            Box::new(VmTopFrames(env)),
            tables.clone(),
            allocation_interval(options),
        )
    });
    let timer = options.cpu.filter(|cpu| cpu.times_methods()).map(|cpu| {
        let plan = timer_plan(options, cpu, shape);
        MethodTimer::new(env, virtual_threads, stacks.clone(), tables.clone(), plan)
    });
    // A collector may ask for a heap dump in any run.
    let has_dump = options.heap.is_some_and(Heap::has_dump) || options.net.is_some();
    let dumpers = has_dump.then(|| {
        let vm = VmEngine::new(env, tables.clone(), stacks.clone(), path);
        let wanted = wanted_dumper(options.dumper);
        let walk = WalkEngine::new(env, tables.clone(), stacks.clone());
        Dumpers::new(
            env,
            stacks.clone(),
            wanted,
            Box::new(vm),
            Some(Box::new(walk)),
        )
    });
    let monitors = options.monitors.then(|| {
        MonitorWatch::new(
            env,
            virtual_threads,
            stacks.clone(),
            Box::new(VmTopFrames(env)),
            tables.clone(),
        )
    });
    Engines {
        sampler,
        tracker,
        timer,
        dumpers,
        monitors,
        stacks,
    }
}

fn timer_plan(options: &Options, cpu: Cpu, shape: TraceShape) -> TimerPlan {
    // The old prof format tells of pairs.
    let depth = match cpu {
        Cpu::Old => 2,
        _ => shape.depth,
    };
    TimerPlan {
        clock: match options.clock {
            Clock::Cpu => cpu_times::Clock::Cpu,
            Clock::Wall => cpu_times::Clock::Wall,
        },
        filter: ClassFilter {
            include: options.include.clone(),
            exclude: options.exclude.clone(),
        },
        shape: TraceShape { depth, ..shape },
    }
}

pub(super) fn allocation_interval(options: &Options) -> Interval {
    options.sample.map_or(Interval::Every, Interval::Bytes)
}

fn wanted_dumper(dumper: Dumper) -> Wanted {
    match dumper {
        Dumper::Auto => Wanted::Best,
        Dumper::Vm => Wanted::Vm,
        Dumper::Jvmti => Wanted::Walk,
    }
}
