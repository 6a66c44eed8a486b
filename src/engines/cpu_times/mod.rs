//! `cpu=times`, `cpu=old`: counts and times every call of every method.
//!
//! `rewrite` inserts calls of the agent's hooks into every class, when it is loaded or, for classes loaded earlier, at
//! the start. `thread_calls` is the work of the hooks: each thread has a shadow stack of its active calls
//! (`shadow_stack`), a tree of its contexts (`call_tree`) and a clock (`thread_clock`). `ledger` sums up the threads.

mod budget;
mod call_tree;
mod context_table;
mod cost;
mod counted_calls;
mod filter;
mod hook_run;
mod ledger;
mod overflow;
mod redefine;
mod report;
mod rewrite;
mod shadow_stack;
mod thread_calls;
mod thread_clock;
mod unmounted;

use std::sync::Arc;

use hprof_format::{Note, NoteMeaning};

use super::cpu_samples::{ContextSampler, SamplingMethod};
use super::{
    Context, Engine, Report, Reporter, ReporterWithoutVm, Requirement, ThreadWatcher, Totals,
    Worker,
};
use jvmti::{
    AgentThreads, Capability, CellLayout, ClassFile, CurrentThread, Env, Event, Jni, JvmtiError,
    Object, RegisteredThreads, TickClock, TickStart, VirtualThreads, define_call_hooks,
    define_count_hooks,
};
use locks::{Mutex, rank};
use names::Tables;
use names::frame::FrameId;
use names::thread::ThreadSerial;
use options::{Clock, Cpu, Options};
use output::Journal;
use output::console;
use stacks::{Stacks, TraceShape};

use budget::CallBudget;
use cost::ContextCosts;
use counted_calls::MethodStack;
use filter::ClassFilter;
use ledger::{Ledger, Measure};
use redefine::ClassRedefiner;
use report::{MethodSelection, RowLimit};
use rewrite::ClassRewriter;
use shadow_stack::Call;
use thread_clock::Timing;
use unmounted::UnmountedStacks;

/// Counts and times the calls of all methods.
pub struct MethodTimer {
    env: Env,
    /// The environment in whose thread storage an unmounted virtual thread has the key of its saved calls.
    unmounted_storage: Env,
    virtual_threads: Option<VirtualThreads>,
    registered: Arc<RegisteredThreads>,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    clock: Clock,
    shape: TraceShape,
    cutoff: f64,
    /// See [`Context::folded`].
    folded: Option<FrameId>,
    /// `cpu=old`: write costs by caller and callee.
    old_prof: bool,
    rewriter: Arc<ClassRewriter>,
    redefiner: ClassRedefiner,
    agent_threads: Arc<AgentThreads>,
    /// `budget=`: the percentage of the program's CPU time that counting may cost.
    budget: Option<u8>,
    /// Keeps to the budget.
    regulator: Worker,
    unmounted_stacks: UnmountedStacks<UnmountedCalls>,
    /// `clock=samples|auto`: charges the contexts that threads are in.
    sampler: Option<ContextSampler>,
    ticks: TickStart,
    ledger: Mutex<Option<Arc<Ledger>>, rank::TimerLedger>,
}

/// The calls of a virtual thread that is not mounted.
enum UnmountedCalls {
    Timed(Vec<Call>),
    Counted(MethodStack),
}

/// Returns the capabilities that `cpu=times` and `cpu=old` need.
pub(super) fn requirement(options: &Options) -> Option<Requirement> {
    let cpu = options.cpu.filter(|cpu| cpu.times_methods())?;
    Some(Requirement {
        option: cpu.option(),
        capabilities: &[Capability::ThreadCpuTime, Capability::Retransform],
    })
}

impl MethodTimer {
    /// Creates the engine; `None` if the options do not request it.
    pub(super) fn new(context: &Context, method: Option<SamplingMethod>) -> Option<Self> {
        let options = &context.options;
        let shape = context.stacks.shape();
        let cpu = options.cpu.filter(|cpu| cpu.times_methods())?;
        let old_prof = cpu == Cpu::Old;
        let filter = ClassFilter {
            include: options.include.clone(),
            exclude: options.exclude.clone(),
        };
        let tables = context.tables.clone();
        let stacks = context.stacks.clone();
        let sampler = method.and_then(|method| ContextSampler::new(context, method));
        let rewriter = Arc::new(ClassRewriter::new(
            stacks.clone(),
            tables.clone(),
            filter,
            shape.line_numbers,
            sampler.is_some(),
        ));
        Some(Self {
            env: context.env,
            // If there is only one environment, its storage is shared with the serial numbers of threads.
            unmounted_storage: context.env.aside().unwrap_or(context.env),
            virtual_threads: context.virtual_threads,
            registered: context.registered.clone(),
            tables,
            stacks,
            clock: options.clock,
            shape: TraceShape {
                // The old prof format has pairs of caller and callee.
                depth: if old_prof { 2 } else { shape.depth },
                ..shape
            },
            cutoff: options.cutoff,
            folded: context.folded(),
            old_prof,
            redefiner: ClassRedefiner::new(context.env, rewriter.clone()),
            rewriter,
            agent_threads: context.agent_threads.clone(),
            budget: options.budget,
            regulator: Worker::default(),
            unmounted_stacks: UnmountedStacks::default(),
            sampler,
            ticks: TickClock::choose().begin(),
            ledger: Mutex::new(None),
        })
    }

    /// Called when a class is about to be defined; returns the class with hooks.
    pub fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>> {
        self.rewriter.rewrite(jni, class)
    }

    /// Called when the current thread begins to carry a virtual thread.
    pub fn virtual_thread_mounted(&self, thread: CurrentThread<'_>) {
        let storage = self.unmounted_storage;
        let number = storage.thread_storage(Some(thread)).unwrap_or(0);
        let calls = self.unmounted_stacks.take(number);
        if number != 0 {
            let _ = storage.set_thread_storage(thread, 0);
        }
        match (&self.sampler, calls) {
            (None, Some(UnmountedCalls::Timed(calls))) => {
                thread_calls::with(|local| local.mount(calls));
            }
            (None, _) => {
                thread_calls::with(|local| local.mount(Vec::new()));
            }
            (Some(_), Some(UnmountedCalls::Counted(calls))) => counted_calls::mount(Some(calls)),
            (Some(_), _) => counted_calls::mount(None),
        }
    }

    /// Called when the current thread is about to stop carrying the virtual thread.
    pub fn virtual_thread_unmounted(&self, thread: CurrentThread<'_>) {
        let calls = match self.sampler {
            Some(_) => counted_calls::unmount().map(UnmountedCalls::Counted),
            None => thread_calls::with(thread_calls::ThreadCalls::unmount)
                .filter(|calls| !calls.is_empty())
                .map(UnmountedCalls::Timed),
        };
        if let Some(calls) = calls {
            let number = self.unmounted_stacks.keep(calls);
            let storage = self.unmounted_storage;
            if storage.set_thread_storage(thread, number).is_err() {
                self.unmounted_stacks.take(number);
            }
        }
    }

    /// Calls `read` with the cost of calls since the last reset, unless nothing was counted.
    fn read_costs(&self, totals: Totals, read: &mut dyn FnMut(&ContextCosts<'_>)) {
        let ledger = self.ledger.lock().clone();
        if let Some(ledger) = ledger {
            ledger.read_costs(totals, read);
        }
    }

    /// Names the methods that `budget=` has left out, one line each.
    fn over_budget(&self) -> Vec<String> {
        let budget = self.budget.into_iter();
        budget
            .flat_map(|budget| self.rewriter.over_budget(budget))
            .collect()
    }

    /// Starts the thread that keeps the costs within the budget, if there is one.
    fn keep_to_budget(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let ledger = self.ledger.lock().clone();
        let (Some(percentage), Some(ledger)) = (self.budget, ledger) else {
            return Ok(());
        };
        let sampled = self.sampler.as_ref().map(ContextSampler::counting_time);
        if let Some(None) = sampled {
            console::line(format_args!(
                "budget= has no effect: the cost of counting cannot be measured in this VM"
            ));
            return Ok(());
        }
        let sampled = sampled.flatten();
        let (rewriter, redefiner) = (self.rewriter.clone(), self.redefiner.clone());
        self.regulator.start(
            &self.agent_threads,
            self.env,
            jni,
            "HPROF budget",
            move |jni, worker| {
                let counting = || match &sampled {
                    Some(time) => time.nanos(),
                    None => ledger.spent(),
                };
                CallBudget::new(percentage, &ledger, &counting, &rewriter, &redefiner)
                    .keep(jni, worker);
            },
        )
    }

    /// Describes the methods that are not timed, one line for each reason.
    fn left_out(&self, jni: Jni<'_>) -> Vec<String> {
        let mut lines = self.rewriter.left_out();
        let hidden = self.hidden_classes(jni).unwrap_or(0);
        if hidden > 0 {
            lines.push(format!(
                "not timed: {hidden} hidden classes, which the VM shows to no agent"
            ));
        }
        lines
    }

    fn hidden_classes(&self, jni: Jni<'_>) -> Result<usize, JvmtiError> {
        let classes = self.env.loaded_classes(jni)?;
        let signatures = classes
            .iter()
            .filter_map(|class| self.env.class_signature(class.object()).ok());
        // The VM writes a hidden class's name with a dot, which no other class has in its signature. JDK 11 uses a
        // slash and a number.
        Ok(signatures
            .filter(|signature| self.rewriter.wants_signature(signature) && is_hidden(signature))
            .count())
    }

    fn new_ledger(&self, measure: Measure) -> Arc<Ledger> {
        Arc::new(Ledger::new(
            self.env,
            self.registered.clone(),
            self.tables.clone(),
            self.stacks.clone(),
            self.shape,
            measure,
        ))
    }

    fn begin_to_time(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        define_call_hooks(self.env, jni, &rewrite::tracker(), thread_calls::HOOKS)?;
        let timing = Timing {
            clock: self.clock,
            ticks: TickClock::choose(),
            length: self.ticks.length(),
        };
        let overhead = self.cost_of_a_hook(timing);
        let ledger = self.new_ledger(Measure::Timed { timing, overhead });
        *self.ledger.lock() = Some(ledger.clone());
        thread_calls::begin(ledger);
        Ok(())
    }

    fn begin_to_count(&self, jni: Jni<'_>, sampler: &ContextSampler) -> Result<(), JvmtiError> {
        let layout = CellLayout::prepare()?;
        let class = rewrite::counter(&layout, self.virtual_threads.is_some());
        define_count_hooks(self.env, jni, &class, counted_calls::HOOKS)?;
        let interval = sampler.interval_nanos();
        let ledger = self.new_ledger(Measure::Sampled { interval });
        *self.ledger.lock() = Some(ledger.clone());
        counted_calls::begin(ledger);
        sampler.start(jni)
    }

    /// Says what the times are if they are sampled.
    fn about_samples(&self, jni: Option<Jni<'_>>, totals: Totals) -> Vec<String> {
        let Some(sampler) = &self.sampler else {
            return Vec::new();
        };
        let millis = sampler.interval_nanos() as f64 / 1e6;
        let outside = sampler.outside_nanos(jni, totals) / 1_000_000;
        let error = (millis * 1_000.0).sqrt();
        let counting = match sampler.counting_nanos(totals) {
            Some(nanos) => format!("without {} ms of counting", nanos / 1_000_000),
            None => "and include the counting".to_owned(),
        };
        let remark = format!(
            "counts are exact; times are sampled, once in {millis} ms of CPU time, {counting}: 1,000 ms have a standard error of {error:.0} ms"
        );
        let mut notes = vec![format!(
            "in no method that is counted, or in threads that ended before a sample: {outside} ms"
        )];
        if let Some(remark) = Note::of_meaning(NoteMeaning::Remark(remark)) {
            notes.push(remark.text.into_owned());
        }
        notes
    }

    /// Measures the cost of a hook from one reading of the clock to the next, in ticks, without the VM's part.
    fn cost_of_a_hook(&self, timing: Timing) -> u64 {
        const ROUNDS: usize = 32;
        const CALLS: u64 = 256;
        let method = self.rewriter.own_method();
        let here = std::ptr::from_ref(&method).addr();
        thread_calls::begin(self.new_ledger(Measure::Timed {
            timing,
            overhead: 0,
        }));
        let costs = (0..ROUNDS).map(|_| {
            let start = timing.ticks.ticks();
            for _ in 0..CALLS {
                (thread_calls::HOOKS.entry)(method, here);
                (thread_calls::HOOKS.exit)(method);
            }
            (timing.ticks.ticks() - start) / (2 * CALLS)
        });
        let cost = costs.min().unwrap_or(0);
        thread_calls::end();
        thread_calls::finish();
        cost
    }
}

impl Engine for MethodTimer {
    /// Begins to rewrite every class, starting with those already loaded.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        match &self.sampler {
            Some(sampler) => self.begin_to_count(jni, sampler)?,
            None => self.begin_to_time(jni)?,
        }
        if let Some(virtual_threads) = self.virtual_threads {
            virtual_threads.enable_mount_events()?;
        }
        self.env.enable(Event::ClassFile)?;
        self.redefiner.retransform(jni, |signature, class| {
            self.rewriter.wants_signature(signature) && self.env.has_code(class)
        })?;
        self.keep_to_budget(jni)
    }

    /// Ends timing. Rewritten methods go on calling hooks, which do nothing.
    fn stop(&self, jni: Jni<'_>) {
        self.regulator.stop();
        match &self.sampler {
            Some(sampler) => {
                sampler.stop(jni);
                counted_calls::end();
            }
            None => thread_calls::end(),
        }
        // If events still arrive, they have no effect.
        let _ = self.env.disable(Event::ClassFile);
        if let Some(virtual_threads) = self.virtual_threads {
            let _ = virtual_threads.disable_mount_events();
        }
    }

    /// Restores the original methods of all classes. The program's threads keep little of what was measured.
    fn give_back(&self, jni: Jni<'_>) {
        let ledger = self.ledger.lock().take();
        if let Some(ledger) = ledger {
            ledger.discard();
        }
        if let Err(error) = self.redefiner.retransform(jni, |signature, _| {
            self.rewriter.has_rewritten_signature(signature)
        }) {
            console::line(format_args!("{error}; some methods continue to be counted"));
        }
    }
}

impl ThreadWatcher for MethodTimer {
    fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        if let Some(sampler) = &self.sampler {
            sampler.thread_registered(jni, thread, serial);
        }
    }

    fn current_thread_ended(&self, serial: Option<ThreadSerial>) {
        match (&self.sampler, serial) {
            (Some(sampler), Some(serial)) => {
                sampler.current_thread_ended(serial);
                counted_calls::finish();
            }
            (Some(_), None) => counted_calls::finish(),
            (None, _) => thread_calls::finish(),
        }
    }

    fn thread_gone(&self, serial: ThreadSerial) {
        if let Some(sampler) = &self.sampler {
            sampler.thread_gone(serial);
        }
    }
}

impl Reporter for MethodTimer {
    fn section(&self) -> Option<&'static str> {
        Some(match self.old_prof {
            true => "CPU usage in old prof format",
            false => "CPU usage by timing methods",
        })
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        let mut notes = self.over_budget();
        notes.extend(self.about_samples(Some(jni), report.totals));
        if report.verbose {
            notes.extend(self.left_out(jni));
        }
        self.report_costs(report, notes);
    }
}

impl ReporterWithoutVm for MethodTimer {
    fn report_without_vm(&self, report: &Report<'_>) {
        self.regulator.ask_to_stop();
        let mut notes = self.over_budget();
        notes.extend(self.about_samples(None, report.totals));
        if report.verbose {
            notes.extend(self.rewriter.left_out());
        }
        self.report_costs(report, notes);
    }

    fn report_known(&self, journal: &Journal, least: f64) {
        if self.old_prof {
            self.write_pairs(journal, Totals::Keep, least);
            return;
        }
        let limit = RowLimit {
            cutoff: self.cutoff.max(least),
            folded: None,
        };
        let mut notes = self.over_budget();
        notes.extend(self.about_samples(None, Totals::Keep));
        self.write_rows(journal, Totals::Keep, limit, &notes);
    }
}

impl MethodTimer {
    /// Writes the cost of calls, preceded by one line for each of `notes`.
    fn report_costs(&self, report: &Report<'_>, notes: Vec<String>) {
        if !self.old_prof {
            let limit = RowLimit {
                cutoff: self.cutoff,
                folded: self.folded,
            };
            self.write_rows(report.journal, report.totals, limit, &notes);
            return;
        }
        self.write_pairs(report.journal, report.totals, 0.0);
        // The old prof format has no place for notes.
        for note in notes {
            report.say(&format!("({note})"));
        }
    }

    fn write_rows(&self, journal: &Journal, totals: Totals, limit: RowLimit, notes: &[String]) {
        let traces = &self.tables.traces;
        let mut selected = MethodSelection::default();
        self.read_costs(totals, &mut |costs| {
            selected = report::rows_by_time(costs, limit, traces);
        });
        report::cpu_times(journal, &selected, limit.cutoff, notes);
    }

    fn write_pairs(&self, journal: &Journal, totals: Totals, least: f64) {
        let traces = &self.tables.traces;
        let mut pairs = Vec::new();
        self.read_costs(totals, &mut |costs| {
            pairs = report::rows_by_calls(costs, least, traces);
        });
        report::old_prof(journal, &pairs);
    }
}

fn is_hidden(signature: &str) -> bool {
    signature.contains('.')
        || signature
            .trim_end_matches(';')
            .rsplit_once('/')
            .is_some_and(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()))
}
