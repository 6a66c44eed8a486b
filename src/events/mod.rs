//! What happens on each event of the VM.

mod monitor;
mod thread;
mod vm;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::engines::alloc::AllocationTracker;
use crate::engines::monitor::MonitorWatch;
use crate::engines::sample::CpuSampler;
use crate::jvmti::{AgentThreads, Allocation, Env, Events, Jni, Object};
use crate::snapshot::Journal;
use crate::tables::Tables;

/// What a run does at its end and on request.
#[derive(Clone, Copy)]
pub struct DumpPlan {
    /// `cutoff=`.
    pub cutoff: f64,
    /// `doe=`.
    pub on_exit: bool,
    /// `verbose=`.
    pub verbose: bool,
    /// `gc=`: whether garbage is collected before live objects are reported.
    pub collect: bool,
    /// `sample=`: the bytes between two allocations that are seen, where not all are.
    pub sampled: Option<u32>,
}

/// What a run measures.
pub struct Engines {
    /// `None` where no samples are asked for, or traces have no frames (`depth=0`): then there is nothing to charge.
    pub sampler: Option<Box<dyn CpuSampler>>,
    /// `None` where sites are not asked for.
    pub tracker: Option<AllocationTracker>,
    /// `None` where monitors are not asked for.
    pub monitors: Option<MonitorWatch>,
}

/// The agent, as the VM's events see it.
///
/// Lock order: `dumping`, then what `snapshot` locks. `registering` is held while a thread is announced to the journal
/// and to the sampler. `beginning` is held alone.
pub struct Handlers {
    env: Env,
    agent_threads: Arc<AgentThreads>,
    tables: Arc<Tables>,
    journal: Arc<Journal>,
    sampler: Option<Box<dyn CpuSampler>>,
    tracker: Option<AllocationTracker>,
    monitors: Option<MonitorWatch>,
    plan: DumpPlan,
    /// Called once the output is closed; `true` if it could be written whole.
    closed: Box<dyn Fn(bool) + Send + Sync>,
    registering: Mutex<()>,
    dumping: Mutex<()>,
    beginning: Mutex<vm::Beginning>,
    quiet: AtomicBool,
}

impl Handlers {
    /// The handlers of one run.
    pub fn new(
        env: Env,
        agent_threads: Arc<AgentThreads>,
        tables: Arc<Tables>,
        journal: Arc<Journal>,
        engines: Engines,
        plan: DumpPlan,
        closed: Box<dyn Fn(bool) + Send + Sync>,
    ) -> Self {
        Self {
            env,
            agent_threads,
            tables,
            journal,
            sampler: engines.sampler,
            tracker: engines.tracker,
            monitors: engines.monitors,
            plan,
            closed,
            registering: Mutex::new(()),
            dumping: Mutex::new(()),
            beginning: Mutex::default(),
            quiet: AtomicBool::new(false),
        }
    }

    /// Whether a panic has put an end to the profile.
    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

impl Events for Handlers {
    fn vm_init(&self, jni: Jni<'_>, thread: Object<'_>) {
        self.on_vm_init(jni, thread);
    }

    fn vm_death(&self, jni: Jni<'_>) {
        self.on_vm_death(jni);
    }

    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>) {
        if !self.is_quiet() {
            self.on_thread_start(jni, thread);
        }
    }

    fn thread_end(&self, _jni: Jni<'_>, _thread: Object<'_>) {
        if !self.is_quiet() {
            self.on_thread_end();
        }
    }

    fn allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>) {
        if let Some(tracker) = &self.tracker
            && !self.is_quiet()
        {
            tracker.allocated(jni, allocation);
        }
    }

    fn monitor_enter(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>) {
        if !self.is_quiet() {
            self.on_monitor_enter(jni, thread, monitor);
        }
    }

    fn monitor_entered(&self, jni: Jni<'_>, thread: Object<'_>) {
        if !self.is_quiet() {
            self.on_monitor_entered(jni, thread);
        }
    }

    fn monitor_wait(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>, timeout: u64) {
        if !self.is_quiet() {
            self.on_monitor_wait(jni, thread, monitor, timeout);
        }
    }

    fn monitor_waited(&self, jni: Jni<'_>, thread: Object<'_>, monitor: Object<'_>) {
        if !self.is_quiet() {
            self.on_monitor_waited(jni, thread, monitor);
        }
    }

    fn gc_finished(&self) {
        if let Some(tracker) = &self.tracker {
            tracker.gc_finished();
        }
    }

    fn data_dump_request(&self) {
        if !self.is_quiet() {
            self.on_data_dump_request();
        }
    }

    fn panicked(&self, _event: &'static str) {
        // The panic hook has said what there is to say.
        self.quiet.store(true, Ordering::Relaxed);
    }
}
