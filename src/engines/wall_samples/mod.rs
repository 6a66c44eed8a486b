//! `wall=`: where threads spend the time that passes, whether they run or wait.
//!
//! A thread of the agent looks at the program's threads at an interval (`rounds`), and asks the VM for the stacks of
//! those that have run since. No signal is used, so no system call of the program is interrupted; a thread that waits is
//! not woken, because the VM shows its stack without its help.

mod report;
mod rounds;
mod state;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::cpu_samples::counts::SampleCounts;
use super::interval_clock::IntervalClock;
use super::live_threads::{LiveThread, LiveThreads};
use super::{Context, Engine, Report, Reporter, ReporterWithoutVm, ThreadWatcher, Worker};
use jvmti::{
    AgentThreads, Env, GlobalRef, Jni, JvmtiError, Object, SystemThreads, VirtualThreads,
    notices_every_run,
};
use locks::{Mutex, rank};
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use output::Journal;
use output::console;
use stacks::Stacks;

use report::Section;
use rounds::Rounds;

/// The class of the threads on which virtual threads run.
const CARRIER: &str = "Ljdk/internal/misc/CarrierThread;";
/// The interval at which unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a report waits for the round that is under way.
const ROUND_TIMEOUT: Duration = Duration::from_secs(1);

/// The engine of `wall=`.
pub(super) struct WallSampler {
    agent_threads: Arc<AgentThreads>,
    worker: Worker,
    shared: Arc<WallSamplerState>,
    cutoff: f64,
    /// See [`Context::folded`].
    folded: Option<FrameId>,
}

/// The state that the agent's thread and the events share.
struct WallSamplerState {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    stacks: Arc<Stacks>,
    clock: IntervalClock,
    /// `true` if all threads stop when the VM is asked for a stack.
    stops_all: bool,
    system_threads: OnceLock<Option<SystemThreads>>,
    threads: LiveThreads,
    rounds: Mutex<Rounds, rank::WallRounds>,
    counts: SampleCounts,
    /// The number of threads that have been sampled.
    sampled: AtomicU64,
}

impl WallSampler {
    /// Creates the engine; `None` if the options do not request it.
    pub(super) fn new(context: &Context) -> Option<Self> {
        let options = &context.options;
        let shared = WallSamplerState {
            env: context.env,
            virtual_threads: context.virtual_threads,
            stacks: context.stacks.clone(),
            clock: IntervalClock::new(options.wall?),
            stops_all: context.env.vm_kind().stops_all_for_one_stack(),
            system_threads: OnceLock::new(),
            threads: LiveThreads::default(),
            rounds: Mutex::default(),
            counts: SampleCounts::new(context.keeps_times()),
            sampled: AtomicU64::new(0),
        };
        Some(Self {
            agent_threads: context.agent_threads.clone(),
            worker: Worker::default(),
            shared: Arc::new(shared),
            cutoff: options.cutoff,
            folded: context.folded(),
        })
    }

    fn section_of(&self, cutoff: f64, folded: Option<FrameId>) -> Section {
        Section {
            interval: self.shared.clock.interval(),
            threads: self.shared.sampled.load(Ordering::Relaxed),
            has_virtual_threads: self.shared.virtual_threads.is_some(),
            cutoff,
            folded,
            is_snapshot: false,
        }
    }
}

impl Engine for WallSampler {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let shared = self.shared.clone();
        if shared.system_threads().is_none() {
            return Ok(());
        }
        if !notices_every_run() {
            console::line(format_args!(
                "wall=: this system does not count the cycles of threads, so each look takes a stack"
            ));
        }
        shared.clock.begin();
        let run = move |jni: Jni<'_>, worker: &Worker| shared.run(jni, worker);
        self.worker.start(
            &self.agent_threads,
            self.shared.env,
            jni,
            "HPROF wall sampler",
            run,
        )
    }

    fn stop(&self, _jni: Jni<'_>) {
        self.worker.stop();
        self.shared.settle(true);
        self.shared.threads.close();
    }

    fn give_back(&self, _jni: Jni<'_>) {
        self.shared.threads.close();
        if let Some(mut rounds) = self.shared.rounds.try_lock_for(ROUND_TIMEOUT) {
            rounds.clear();
        }
    }
}

impl ThreadWatcher for WallSampler {
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Some(system_threads) = self.shared.system_threads() else {
            return;
        };
        // Otherwise it has ended in the meantime.
        if let Some(tid) = system_threads.tid(jni, thread)
            && let Some(global) = GlobalRef::new(jni, thread)
        {
            let is_carrier = self.shared.is_carrier(jni, thread);
            let since = self.shared.clock.round();
            let thread = LiveThread::new(serial, tid, global, is_carrier, since);
            self.shared.threads.add(thread);
        }
    }

    fn current_thread_ended(&self, serial: Option<ThreadSerial>) {
        if let Some(serial) = serial {
            self.shared
                .threads
                .remove(serial, self.shared.clock.round());
        }
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        self.current_thread_ended(Some(serial));
    }
}

impl Reporter for WallSampler {
    fn section(&self) -> Option<&'static str> {
        Some("elapsed time by sampling all threads")
    }

    fn report(&self, _jni: Jni<'_>, report: &Report<'_>) {
        self.report_without_vm(report);
    }
}

impl ReporterWithoutVm for WallSampler {
    fn report_without_vm(&self, report: &Report<'_>) {
        self.shared.settle(false);
        let section = self.section_of(self.cutoff, self.folded);
        let samples = match report.totals.start_anew() {
            true => {
                let alive = self.shared.threads.count() as u64;
                self.shared.sampled.store(alive, Ordering::Relaxed);
                self.shared.counts.take()
            }
            false => self.shared.counts.get(),
        };
        section.write(report.journal, samples);
    }

    fn report_known(&self, journal: &Journal, least: f64) {
        let section = Section {
            is_snapshot: true,
            ..self.section_of(self.cutoff.max(least), None)
        };
        section.write(journal, self.shared.counts.get());
    }
}

impl WallSamplerState {
    /// Returns the way to the system's ids of threads; `None` in a VM where there is none, which is said once.
    fn system_threads(&self) -> Option<SystemThreads> {
        *self.system_threads.get_or_init(|| {
            let found = SystemThreads::find(self.env);
            if let Err(reason) = found {
                console::line(format_args!("wall=: there will be no samples: {reason}"));
            }
            found.ok()
        })
    }

    /// Returns `true` for a thread of the pool on which virtual threads run.
    fn is_carrier(&self, jni: Jni<'_>, thread: Object<'_>) -> bool {
        let class = self.virtual_threads.and_then(|_| jni.class_of(thread));
        let signature = class.map(|class| self.env.class_signature(class.object()));
        signature.is_some_and(|signature| signature.is_ok_and(|name| name == CARRIER))
    }

    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        while worker.sleep_until(self.clock.moment_in(self.clock.round() + 1)) {
            self.rounds.lock().look(self, jni, self.clock.round());
            let now = Instant::now();
            if now >= next_sweep {
                self.stacks.sweep(jni);
                next_sweep = now + SWEEP_INTERVAL;
            }
        }
    }

    /// Charges the rounds between two to a trace.
    fn charge(&self, trace: TraceId, rounds: Range<u64>) {
        if !rounds.is_empty() {
            let period = [rounds.start, rounds.end].map(|round| self.clock.start_of(round));
            let count = rounds.end - rounds.start;
            self.counts.add_over(trace, count, period);
        }
    }

    fn one_more_thread(&self) {
        self.sampled.fetch_add(1, Ordering::Relaxed);
    }

    /// Charges the threads that no round has looked at lately. If a round does not end, they are left out.
    fn settle(&self, is_end: bool) {
        if let Some(mut rounds) = self.rounds.try_lock_for(ROUND_TIMEOUT) {
            rounds.settle(self, self.clock.round(), is_end);
        }
    }
}
