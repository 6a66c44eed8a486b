//! `cpu=times`, `cpu=old`: every call of every method counted and timed.
//!
//! `rewrite` puts calls of our hooks into every class, when it is loaded or, for those that were there before, at the start.
//! `local` is what the hooks do: each thread has a stack of the calls it is in (`stack`), a tree of the contexts it has been
//! in (`tree`) and a clock (`thread_clock`). `ledger` adds the threads up.

mod call_tree;
mod filter;
mod ledger;
pub mod report;
mod rewrite;
mod shadow_stack;
mod thread_calls;
mod thread_clock;
mod unmounted;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::jvmti::{
    ClassFile, Env, Event, Global, Jni, JvmtiError, Local, Object, TickClock, TickStart,
    VirtualThreads, define_hooks,
};
use crate::names::Tables;
use crate::names::cost::TraceCost;
use crate::stacks::{Stacks, TraceShape};

pub use filter::ClassFilter;
pub use thread_clock::Clock;

use ledger::Ledger;
use rewrite::Rewriter;
use thread_clock::Timing;
use unmounted::Parked;

/// Classes that are defined anew together. The program stands still meanwhile.
const BATCH: usize = 500;
/// As above, on a VM that looks at all classes for each of them (before JDK 12).
const SMALL_BATCH: usize = 8;
/// The program runs no longer than this between two of them.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// What is to be timed, and how.
pub struct TimerPlan {
    /// Which time.
    pub clock: Clock,
    /// Which classes.
    pub filter: ClassFilter,
    /// What makes a trace.
    pub shape: TraceShape,
}

/// Counts and times the calls of all methods.
pub struct MethodTimer {
    env: Env,
    /// Virtual threads that are parked have a mark here, which is not their number.
    marks: Env,
    virtual_threads: Option<VirtualThreads>,
    tables: Arc<Tables>,
    plan: TimerPlan,
    rewriter: Rewriter,
    parked: Parked,
    ticks: TickStart,
    ledger: Mutex<Option<Arc<Ledger>>>,
}

impl MethodTimer {
    /// A timer that has not begun.
    pub fn new(
        env: Env,
        virtual_threads: Option<VirtualThreads>,
        stacks: Arc<Stacks>,
        tables: Arc<Tables>,
        plan: TimerPlan,
    ) -> Self {
        let rewriter = Rewriter::new(
            stacks,
            tables.clone(),
            plan.filter.clone(),
            plan.shape.line_numbers,
        );
        Self {
            env,
            // Where there is only one environment, they are those of threads that have a number.
            marks: env.aside().unwrap_or(env),
            virtual_threads,
            tables,
            plan,
            rewriter,
            parked: Parked::default(),
            ticks: TickClock::choose().begin(),
            ledger: Mutex::new(None),
        }
    }

    /// Begins, when the VM is up: from here on every class is rewritten, those that are loaded first.
    pub fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        define_hooks(jni, &rewrite::tracker(), thread_calls::HOOKS)?;
        let timing = Timing {
            clock: self.plan.clock,
            ticks: TickClock::choose(),
            length: self.ticks.length(),
        };
        let overhead = self.cost_of_a_hook(timing);
        let ledger = self.new_ledger(timing, overhead);
        *self.ledger.lock() = Some(ledger.clone());
        thread_calls::begin(ledger);
        if let Some(virtual_threads) = self.virtual_threads {
            virtual_threads.tell_of_mounts()?;
        }
        self.env.enable(Event::ClassFile)?;
        self.retransform(jni, |signature, class| {
            self.rewriter.wants_signature(signature) && self.env.has_code(class)
        })
    }

    /// Ends the measurement. Rewritten methods go on calling hooks, which do nothing.
    pub fn stop(&self) {
        thread_calls::end();
        // Events that come all the same find nothing to do.
        let _ = self.env.disable(Event::ClassFile);
        if let Some(virtual_threads) = self.virtual_threads {
            let _ = virtual_threads.be_silent_of_mounts();
        }
    }

    /// After [`MethodTimer::stop`]: gives all classes their own methods back. At the end of the program that is not worth the
    /// time.
    pub fn uninstall(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.retransform(jni, |signature, _| {
            self.rewriter.has_rewritten_signature(signature)
        })
    }

    /// A class is about to be defined; answers the class with hooks.
    pub fn class_file(&self, jni: Jni<'_>, class: ClassFile<'_>) -> Option<Vec<u8>> {
        self.rewriter.rewrite(jni, class)
    }

    /// The current thread ends.
    pub fn thread_ended(&self) {
        thread_calls::finish();
    }

    /// The current thread begins to carry a virtual thread.
    pub fn virtual_thread_mounted(&self, thread: Object<'_>) {
        let mark = self.marks.thread_mark(Some(thread)).unwrap_or(0);
        let calls = self.parked.take(mark);
        if mark != 0 {
            let _ = self.marks.set_thread_mark(thread, 0);
        }
        thread_calls::with(|local| local.mount(calls));
    }

    /// The current thread is about to carry the virtual thread no longer.
    pub fn virtual_thread_unmounted(&self, thread: Object<'_>) {
        let calls = thread_calls::with(thread_calls::Local::unmount).unwrap_or_default();
        if !calls.is_empty() {
            let mark = self.parked.keep(calls);
            if self.marks.set_thread_mark(thread, mark).is_err() {
                self.parked.take(mark);
            }
        }
    }

    /// What calls have cost since this was asked last.
    pub fn take_costs(&self) -> Vec<TraceCost> {
        let ledger = self.ledger.lock().clone();
        ledger.map(|ledger| ledger.take()).unwrap_or_default()
    }

    /// What is not timed, in words: one line for each reason.
    pub fn left_out(&self, jni: Jni<'_>) -> Vec<String> {
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
        // The VM writes a hidden class's name with a dot, which no other class's name has in a signature. JDK 11 has a slash and
        // a number.
        Ok(signatures
            .filter(|signature| self.rewriter.wants_signature(signature) && is_hidden(signature))
            .count())
    }

    fn new_ledger(&self, timing: Timing, overhead: u64) -> Arc<Ledger> {
        let tables = self.tables.clone();
        Arc::new(Ledger::new(
            self.env,
            tables,
            self.plan.shape,
            timing,
            overhead,
        ))
    }

    /// What a hook costs from one reading of the clock to the next, in ticks, without the VM's part.
    fn cost_of_a_hook(&self, timing: Timing) -> u64 {
        const ROUNDS: usize = 32;
        const CALLS: u64 = 256;
        let method = self.rewriter.own_method();
        let here = std::ptr::from_ref(&method).addr();
        thread_calls::begin(self.new_ledger(timing, 0));
        let costs = (0..ROUNDS).map(|_| {
            let start = timing.ticks.ticks();
            for _ in 0..CALLS {
                (thread_calls::HOOKS.entered)(method, here);
                (thread_calls::HOOKS.left)(method);
            }
            (timing.ticks.ticks() - start) / (2 * CALLS)
        });
        let cost = costs.min().unwrap_or(0);
        thread_calls::end();
        thread_calls::finish();
        cost
    }

    /// Has the loaded classes that are chosen, by signature and class, defined anew, as far as that can be done.
    fn retransform(
        &self,
        jni: Jni<'_>,
        is_chosen: impl Fn(&str, Object<'_>) -> bool,
    ) -> Result<(), JvmtiError> {
        // Global references: of local ones, which the calls that follow are made with, a thread is to have few.
        let classes: Vec<Global> = {
            let loaded = self.env.loaded_classes(jni)?;
            let wanted = loaded.iter().map(Local::object);
            wanted
                .filter(|&class| {
                    let signature = self.env.class_signature(class);
                    signature.is_ok_and(|signature| is_chosen(&signature, class))
                        && self.env.is_modifiable(class)
                })
                .filter_map(|class| Global::new(jni, class))
                .collect()
        };
        let classes: Vec<Object<'_>> = classes.iter().map(Global::object).collect();
        let is_slow = self.env.vm_version().is_none_or(|version| version < 12);
        if !is_slow {
            for batch in classes.chunks(BATCH) {
                self.retransform_batch(batch);
            }
            return Ok(());
        }
        for batch in classes.chunks(SMALL_BATCH) {
            let start = Instant::now();
            self.retransform_batch(batch);
            // The program gets on for as long as it stood still.
            thread::sleep(start.elapsed().min(LONGEST_REST));
        }
        Ok(())
    }

    /// The VM takes all or none: a batch that it refuses is halved until the class that is at fault stands alone.
    fn retransform_batch(&self, batch: &[Object<'_>]) {
        if batch.is_empty() || self.env.retransform(batch).is_ok() {
            return;
        }
        if let [_] = batch {
            self.rewriter.refused();
            return;
        }
        let (left, right) = batch.split_at(batch.len() / 2);
        self.retransform_batch(left);
        self.retransform_batch(right);
    }
}

fn is_hidden(signature: &str) -> bool {
    signature.contains('.')
        || signature
            .trim_end_matches(';')
            .rsplit_once('/')
            .is_some_and(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()))
}
