//! `native=malloc`: where native code allocates memory, and what of it is not freed.
//!
//! The allocating thread takes the sample itself (`jvmti::NativeAllocations`); a thread of the agent fetches the samples, names
//! their stacks, and looks which blocks have been freed (`sites`).

mod report;
mod sites;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::{Context, Engine, Report, Reporter, ReporterWithoutVm, ThreadWatcher, Totals, Worker};
use jvmti::{
    AgentThreads, AllocationSample, Env, Event, Jni, JvmtiError, NativeAllocations,
    NoNativeAllocations, Object, SampledStack, SystemThreads,
};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use options::NativeMemory as NativeOptions;
use output::Journal;
use output::console;
use stacks::Stacks;

use report::Section;
use sites::{Block, MallocSites};

/// The interval at which samples are fetched, and new libraries looked for: names die with their class.
const FETCH_INTERVAL: Duration = Duration::from_millis(20);
/// The same while very many come.
const SHORT_FETCH_INTERVAL: Duration = Duration::from_millis(1);
/// The interval at which freed blocks and unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a fetch waits for another one, whose thread may be suspended.
const WAIT_FOR_FETCH: Duration = Duration::from_secs(10);
/// The same without the VM.
const SHORT_WAIT_FOR_FETCH: Duration = Duration::from_millis(100);

/// The most instructions whose functions are remembered.
const MOST_FUNCTIONS: usize = 1 << 16;

/// The reasons why bytes have no stack.
const LOST: &str = "lost, because samples came too fast";
const NAMELESS: &str = "in frames that were not seen before";
const NO_FRAMES: &str = "in native code without frames";

/// The engine of `native=malloc`.
pub(super) struct NativeMemory {
    agent_threads: Arc<AgentThreads>,
    worker: Worker,
    /// Looks for new libraries, and does nothing that takes longer.
    libraries: Worker,
    shared: Arc<NativeState>,
    cutoff: f64,
    /// See [`Context::folded`].
    folded: Option<FrameId>,
}

/// The state that the agent's thread and the events share.
struct NativeState {
    env: Env,
    stacks: Arc<Stacks>,
    interval: u32,
    system_threads: OnceLock<Option<SystemThreads>>,
    /// The serial numbers of threads by the system's ids, with `thread=y`.
    threads: Mutex<Map<i32, ThreadSerial>, rank::SampledThreads>,
    allocations: OnceLock<Result<NativeAllocations, NoNativeAllocations>>,
    sites: Mutex<MallocSites, rank::NativeSites>,
    /// The functions that have been found, by instructions.
    functions: Mutex<Map<usize, FrameId>, rank::NativeFunctions>,
    /// Samples that were lost, or whose blocks are not tracked: they may not have been freed.
    untracked: AtomicU64,
    /// `true` if libraries have come or gone since functions were last looked up.
    has_other_libraries: AtomicBool,
    has_stopped: AtomicBool,
    fetching: Mutex<(), rank::FetchedSamples>,
}

impl NativeMemory {
    /// Creates the engine; `None` if the options do not request it.
    pub(super) fn new(context: &Context) -> Option<Self> {
        let NativeOptions { interval } = context.options.native_memory?;
        let shared = NativeState {
            env: context.env,
            stacks: context.stacks.clone(),
            interval,
            system_threads: OnceLock::new(),
            threads: Mutex::default(),
            allocations: OnceLock::new(),
            sites: Mutex::default(),
            functions: Mutex::default(),
            untracked: AtomicU64::new(0),
            has_other_libraries: AtomicBool::new(false),
            has_stopped: AtomicBool::new(false),
            fetching: Mutex::default(),
        };
        Some(Self {
            agent_threads: context.agent_threads.clone(),
            worker: Worker::default(),
            libraries: Worker::default(),
            shared: Arc::new(shared),
            cutoff: context.options.cutoff,
            folded: context.folded(),
        })
    }

    fn section_of(&self, cutoff: f64, folded: Option<FrameId>) -> Section {
        Section {
            interval: self.shared.interval,
            untracked: self.shared.untracked.load(Ordering::Relaxed),
            malloc_library: match self.shared.allocations.get() {
                Some(Ok(allocations)) => Some(allocations.malloc_library()),
                _ => None,
            },
            cutoff,
            folded,
        }
    }
}

impl Engine for NativeMemory {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let shared = self.shared.clone();
        shared.env.enable(Event::ClassLoad)?;
        shared.env.enable(Event::ClassPrepare)?;
        shared.stacks.watch_classes(jni);
        let depth = shared.stacks.shape().depth;
        let begin = || NativeAllocations::begin(shared.env, jni, shared.interval, depth);
        if let Err(reason) = shared.allocations.get_or_init(begin) {
            console::line(format_args!("native=malloc: nothing is sampled: {reason}"));
            return Ok(());
        }
        let look = {
            let shared = shared.clone();
            move |jni: Jni<'_>, worker: &Worker| shared.look_for_libraries(jni, worker)
        };
        self.libraries.start(
            &self.agent_threads,
            self.shared.env,
            jni,
            "HPROF native libraries",
            look,
        )?;
        let run = move |jni: Jni<'_>, worker: &Worker| shared.run(jni, worker);
        self.worker.start(
            &self.agent_threads,
            self.shared.env,
            jni,
            "HPROF native memory",
            run,
        )
    }

    fn stop(&self, jni: Jni<'_>) {
        self.libraries.stop();
        self.worker.stop();
        if let Some(Ok(allocations)) = self.shared.allocations.get() {
            allocations.stop();
            self.shared.fetch(Some(jni));
            self.shared.look_for_freed();
        }
        self.shared.has_stopped.store(true, Ordering::Relaxed);
    }
}

impl ThreadWatcher for NativeMemory {
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        if !self.shared.stacks.by_thread() {
            return;
        }
        let find = || SystemThreads::find(self.shared.env).ok();
        let threads = self.shared.system_threads.get_or_init(find);
        if let Some(tid) = threads.and_then(|threads| threads.tid(jni, thread)) {
            self.shared.threads.lock().insert(tid, serial).or_stop();
        }
    }

    /// Keeps the thread: not all that it allocated has been fetched. A later one with the same id takes its place.
    fn current_thread_ended(&self, _serial: Option<ThreadSerial>) {}

    fn thread_gone(&self, serial: ThreadSerial) {
        let mut threads = self.shared.threads.lock();
        threads.retain(|_, known| *known != serial);
    }
}

impl Reporter for NativeMemory {
    fn section(&self) -> Option<&'static str> {
        Some("native memory by sampling allocations")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        self.shared.fetch(Some(jni));
        self.write(report);
    }
}

impl ReporterWithoutVm for NativeMemory {
    fn report_without_vm(&self, report: &Report<'_>) {
        self.shared.fetch(None);
        self.write(report);
    }

    fn report_known(&self, journal: &Journal, least: f64) {
        let section = self.section_of(self.cutoff.max(least), None);
        let totals = self.shared.totals(false);
        section.write(journal, totals);
    }
}

impl NativeMemory {
    fn write(&self, report: &Report<'_>) {
        self.shared.look_for_freed();
        let section = self.section_of(self.cutoff, self.folded);
        let amounts = self.shared.totals(report.totals == Totals::EndPeriod);
        section.write(report.journal, amounts);
    }
}

impl NativeState {
    /// The thread that names the samples does not do this: it may be reading the symbols of a large library for seconds.
    fn look_for_libraries(&self, jni: Jni<'_>, worker: &Worker) {
        while worker.sleep_until(Instant::now() + FETCH_INTERVAL) {
            let Some(Ok(allocations)) = self.allocations.get() else {
                continue;
            };
            allocations.look_for_libraries();
            if allocations.refresh(jni) {
                self.has_other_libraries.store(true, Ordering::SeqCst);
            }
        }
    }

    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        let mut interval = FETCH_INTERVAL;
        while worker.sleep_until(Instant::now() + interval) {
            interval = match self.fetch(Some(jni)) >= NativeAllocations::MANY {
                true => SHORT_FETCH_INTERVAL,
                false => FETCH_INTERVAL,
            };
            let now = Instant::now();
            if now >= next_sweep {
                self.look_for_freed();
                self.stacks.sweep(jni);
                next_sweep = now + SWEEP_INTERVAL;
            }
        }
    }

    /// Fetches the samples taken so far, and returns their number. Without the VM, only those whose frames are all known have a
    /// trace.
    fn fetch(&self, jni: Option<Jni<'_>>) -> usize {
        let Some(Ok(allocations)) = self.allocations.get() else {
            return 0;
        };
        let mut count = 0;
        let _fetching = self.fetching.try_lock_for(match jni {
            Some(_) => WAIT_FOR_FETCH,
            None => SHORT_WAIT_FOR_FETCH,
        });
        if self.has_other_libraries.swap(false, Ordering::SeqCst) {
            self.functions.lock().clear();
        }
        for _ in 0..NativeAllocations::MOST_READS {
            let mut samples = Vec::new();
            allocations.read(&mut samples);
            if samples.is_empty() {
                break;
            }
            // The classes of all their methods have been prepared by now.
            if let (Some(classes), Some(jni)) = (self.stacks.watched_classes(), jni) {
                classes.refresh(jni);
            }
            count += samples.len();
            for sample in samples {
                self.count(allocations, jni, sample);
            }
        }
        let lost = allocations.take_lost();
        if lost.samples > 0 {
            let trace = self.stacks.unsampled_trace(ThreadSerial::UNKNOWN, LOST);
            self.sites.lock().add_lost(trace, lost.bytes);
        }
        let untracked = allocations.take_untracked() + lost.samples;
        self.untracked.fetch_add(untracked, Ordering::Relaxed);
        count
    }

    fn count(
        &self,
        allocations: &NativeAllocations,
        jni: Option<Jni<'_>>,
        sample: AllocationSample,
    ) {
        let trace = self.trace(allocations, jni, &sample);
        let block = Block {
            trace,
            bytes: sample.bytes,
            stands_for: sample.stands_for,
            tracked: sample.block,
            since: sample.time,
        };
        self.sites.lock().add(block);
    }

    fn trace(
        &self,
        allocations: &NativeAllocations,
        jni: Option<Jni<'_>>,
        sample: &AllocationSample,
    ) -> TraceId {
        let thread = self.threads.lock().get(&sample.tid).copied();
        let thread = thread.unwrap_or(ThreadSerial::UNKNOWN);
        let function = |instruction| self.function(allocations, instruction);
        // `malloc` is the same for nearly all, and nothing to look at.
        let mapped_by = sample.mapped_by.as_ref();
        let mapped_by = mapped_by.map(|function| self.stacks.native_frame(function));
        let others = match &sample.stack {
            SampledStack::Frames(sampled) => {
                self.stacks
                    .sampled_frames(jni, sample.number, sampled, function)
            }
            SampledStack::NoJava => Some(self.reason(NO_FRAMES)),
            SampledStack::Unwalkable(reason) => Some(self.reason(&reason.to_string())),
        };
        let Some(others) = others else {
            return self.stacks.unsampled_trace(thread, NAMELESS);
        };
        let mut frames = List::collect(mapped_by.into_iter().chain(others)).or_stop();
        frames.truncate(self.stacks.depth().max(1));
        self.stacks.intern_trace(thread, &frames)
    }

    /// Returns the frame of the function that an instruction is in; `None` if that is in no library.
    fn function(&self, allocations: &NativeAllocations, instruction: usize) -> Option<FrameId> {
        let known = self.functions.lock().get(&instruction).copied();
        if known.is_some() {
            return known;
        }
        let found = self
            .stacks
            .native_frame(&allocations.native_function(instruction)?);
        let mut functions = self.functions.lock();
        if functions.len() < MOST_FUNCTIONS {
            functions.insert(instruction, found).or_stop();
        }
        Some(found)
    }

    fn reason(&self, reason: &str) -> List<FrameId> {
        let frame = self.stacks.stand_in(&format!("<{reason}>"));
        List::collect([frame]).or_stop()
    }

    fn look_for_freed(&self) {
        // The blocks of a session that has ended are no longer watched.
        if !self.has_stopped.load(Ordering::Relaxed) {
            self.sites.lock().remove_freed();
        }
    }

    fn totals(&self, starts_anew: bool) -> sites::MallocAmounts {
        let mut sites = self.sites.lock();
        let amounts = sites.amounts(Instant::now());
        if starts_anew {
            sites.start_anew();
        }
        amounts
    }
}
