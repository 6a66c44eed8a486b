//! What happens on each event of the VM.

mod thread;
mod vm;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::engines::alloc::AllocationTracker;
use crate::engines::sample::CpuSampler;
use crate::engines::time::MethodTimer;
use crate::jvmti::{AgentThreads, Allocation, ClassFile, Env, Events, Jni, Object};
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
    /// `cpu=old`: whether times are written in the old prof format.
    pub old_prof: bool,
    /// `sample=`: the bytes between two allocations that are seen, where not all are.
    pub sampled: Option<u32>,
}

/// What a run measures.
pub struct Engines {
    /// `None` where no samples are asked for, or traces have no frames (`depth=0`): then there is nothing to charge.
    pub sampler: Option<Box<dyn CpuSampler>>,
    /// `None` where sites are not asked for.
    pub tracker: Option<AllocationTracker>,
    /// `None` where methods are not timed.
    pub timer: Option<MethodTimer>,
}

/// The agent, as the VM's events see it.
///
/// Lock order: `dumping`, then what `snapshot` locks. `registering` is held while a thread is announced to the journal
/// and to the sampler.
pub struct Handlers {
    env: Env,
    agent_threads: Arc<AgentThreads>,
    tables: Arc<Tables>,
    journal: Arc<Journal>,
    sampler: Option<Box<dyn CpuSampler>>,
    tracker: Option<AllocationTracker>,
    timer: Option<MethodTimer>,
    plan: DumpPlan,
    /// Called once the output is closed; `true` if it could be written whole.
    closed: Box<dyn Fn(bool) + Send + Sync>,
    registering: Mutex<()>,
    dumping: Mutex<()>,
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
            timer: engines.timer,
            plan,
            closed,
            registering: Mutex::new(()),
            dumping: Mutex::new(()),
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
            self.on_data_dump_request();
        }
    }

    fn panicked(&self, _event: &'static str) {
        // The panic hook has said what there is to say.
        self.quiet.store(true, Ordering::Relaxed);
    }
}
