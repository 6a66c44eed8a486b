//! What happens on each event of the VM.

mod collector;
mod dump;
mod heap_dump;
mod lifecycle;
mod monitor;
mod status;
mod threads;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::engines::allocations::AllocationTracker;
use crate::engines::cpu_samples::CpuSampler;
use crate::engines::cpu_times::MethodTimer;
use crate::engines::heap_dump::Dumpers;
use crate::engines::monitors::MonitorWatch;
use crate::jvmti::{AgentThreads, Allocation, ClassFile, Env, Events, Jni, JvmtiError, Object};
use crate::names::Tables;
use crate::names::cost::Totals;
use crate::output::Journal;
use crate::stacks::Stacks;

use collector::Listener;

pub use collector::Collector;
pub use status::About;

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
    /// `cpu=old`: whether times are written in the old prof format.
    pub old_prof: bool,
    /// `sample=`: the bytes between two allocations that are seen, where not all are.
    pub sampled: Option<u32>,
    /// `heap=`: whether the heap is dumped.
    pub heap_dump: bool,
    /// `heap=`: whether sites are reported.
    pub sites: bool,
    /// `sort=`: whether they go by what was allocated.
    pub by_allocation: bool,
    /// `primfields=`.
    pub primitive_fields: bool,
    /// `primarrays=`.
    pub primitive_arrays: bool,
    /// Whether a heap dump may have entries of constant pools.
    pub constant_entries: bool,
}

/// What a run measures.
pub struct Engines {
    /// `None` where no samples are asked for.
    pub sampler: Option<Box<dyn CpuSampler>>,
    /// `None` where the heap is not asked for.
    pub tracker: Option<AllocationTracker>,
    /// `None` where methods are not timed.
    pub timer: Option<MethodTimer>,
    /// `None` where no heap dump can be asked for.
    pub dumpers: Option<Dumpers>,
    /// `None` where monitors are not asked for.
    pub monitors: Option<MonitorWatch>,
    /// What they name stacks with.
    pub stacks: Arc<Stacks>,
}

/// What a run consists of, beside what it measures.
pub struct Run {
    /// The VM.
    pub env: Env,
    /// The agent's own threads.
    pub agent_threads: Arc<AgentThreads>,
    /// What the agent knows.
    pub tables: Arc<Tables>,
    /// The output.
    pub journal: Arc<Journal>,
    /// What happens when.
    pub plan: DumpPlan,
    /// What the user is told of it.
    pub about: About,
    /// A folder where a heap dump may be put aside, if the output's format asks for that.
    pub spool: Option<PathBuf>,
    /// Who sends commands; `None` where the profile goes to a file.
    pub collector: Option<Collector>,
    /// Called once the output is closed; `true` if it could be written whole.
    pub closed: Box<dyn Fn(bool) + Send + Sync>,
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
    dumpers: Option<Dumpers>,
    monitors: Option<MonitorWatch>,
    stacks: Arc<Stacks>,
    timer: Option<MethodTimer>,
    plan: DumpPlan,
    spool: Option<PathBuf>,
    about: About,
    closed: Box<dyn Fn(bool) + Send + Sync>,
    registering: Mutex<()>,
    dumping: Mutex<()>,
    beginning: Mutex<lifecycle::Beginning>,
    begun: AtomicBool,
    quiet: AtomicBool,
    listener: Option<Arc<Listener>>,
}

impl Handlers {
    /// The handlers of one run.
    pub fn new(run: Run, engines: Engines) -> Self {
        Self {
            env: run.env,
            agent_threads: run.agent_threads,
            tables: run.tables,
            journal: run.journal,
            sampler: engines.sampler,
            tracker: engines.tracker,
            timer: engines.timer,
            dumpers: engines.dumpers,
            monitors: engines.monitors,
            stacks: engines.stacks,
            plan: run.plan,
            spool: run.spool,
            about: run.about,
            closed: run.closed,
            registering: Mutex::new(()),
            dumping: Mutex::new(()),
            beginning: Mutex::default(),
            begun: AtomicBool::new(false),
            quiet: AtomicBool::new(false),
            listener: run.collector.map(Listener::new).map(Arc::new),
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

    fn attached(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.on_attach(jni)
    }

    fn stopped(&self, jni: Jni<'_>) -> bool {
        self.on_stop(jni)
    }

    fn status(&self) -> String {
        self.about.status(self.is_quiet())
    }

    fn output(&self) -> &str {
        &self.about.output
    }

    fn vm_death(&self, jni: Jni<'_>) {
        self.on_vm_death(jni);
    }

    fn thread_start(&self, jni: Jni<'_>, thread: Object<'_>) {
        if !self.is_quiet() {
            self.on_thread_start(jni, thread);
        }
    }

    fn thread_end(&self, _jni: Jni<'_>, thread: Object<'_>) {
        if !self.is_quiet() {
            self.on_thread_end(thread);
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

    fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>> {
        let timer = self.timer.as_ref().filter(|_| !self.is_quiet())?;
        timer.class_file(jni, class)
    }

    fn virtual_thread_mounted(&self, _jni: Jni<'_>, thread: Object<'_>) {
        if let Some(timer) = &self.timer {
            timer.virtual_thread_mounted(thread);
        }
    }

    fn virtual_thread_unmounted(&self, _jni: Jni<'_>, thread: Object<'_>) {
        if let Some(timer) = &self.timer {
            timer.virtual_thread_unmounted(thread);
        }
    }

    fn data_dump_request(&self) {
        if !self.is_quiet() {
            self.on_dump_request(Totals::Reset);
        }
    }

    fn dump_so_far(&self) {
        if !self.is_quiet() {
            self.on_dump_request(Totals::Kept);
        }
    }

    fn requested(&self, jni: Jni<'_>) {
        if !self.is_quiet() {
            self.on_requested(jni);
        }
    }

    fn panicked(&self, _event: &'static str) {
        // The panic hook has said what there is to say.
        self.quiet.store(true, Ordering::Relaxed);
    }
}
