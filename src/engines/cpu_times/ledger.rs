//! The sum of all threads' measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::call_tree::{CallSums, CellUse, Published, Tree};
use super::context_table::{ContextId, ContextTable};
use super::cost::{ContextCosts, Cost};
use super::shadow_stack::PublishedStack;
use super::thread_clock::{ThreadClock, Timing};
use crate::engines::Totals;
use jvmti::{Env, RegisteredThreads, SharedCache};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::Tables;
use names::frame::{self, FrameId};
use names::string::StringId;
use names::thread::ThreadSerial;
use stacks::{StackBuffer, Stacks, TraceShape};

/// A thread's state, as others see it.
pub(super) struct ThreadRecord {
    pub(super) contexts: Arc<Published>,
    /// `None` if calls are only counted.
    pub(super) timed: Option<Arc<TimedRecord>>,
    /// The memory by which bytecode finds contexts; `None` if calls are timed.
    pub(super) cache: Option<SharedCache>,
}

/// The part of a thread's state that there is only if calls are timed.
pub(super) struct TimedRecord {
    pub(super) clock: ThreadClock,
    /// The context of its innermost call.
    pub(super) top: AtomicU32,
    /// The shortest time the thread has spent in a call that called nothing, in ticks.
    pub(super) shortest_leaf: AtomicU64,
    pub(super) stack: Arc<PublishedStack>,
}

/// The threads of one run and their measurements.
pub(super) struct Ledger {
    env: Env,
    registered: Arc<RegisteredThreads>,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    shape: TraceShape,
    measure: Measure,
    /// Held from before a thread leaves the books until its costs are here, so that nobody misses them.
    contexts: Mutex<AllContexts, rank::AllContexts>,
    books: Mutex<Books, rank::Books>,
}

/// The meaning of the time in contexts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// Ticks of a clock that is read at each event. `overhead` is the least cost of a hook.
    Timed { timing: Timing, overhead: u64 },
    /// Samples, each of which stands for so many nanoseconds.
    Sampled { interval: u64 },
}

/// The names that identify a method, regardless of its class's loader.
#[derive(PartialEq, Eq)]
pub(super) struct MethodNames {
    class: StringId,
    name: StringId,
    signature: StringId,
}

struct Books {
    threads: Vec<Arc<ThreadRecord>>,
    /// The estimated cost of measuring one piece of time, in ticks.
    overhead: u64,
    /// The shortest leaf call of threads that have ended.
    shortest_leaf: u64,
    /// The events of threads that have ended.
    events: u64,
}

/// The contexts of all threads.
#[derive(Default)]
struct AllContexts {
    table: ContextTable,
    /// The costs of threads that have ended.
    ended: CallCosts,
    /// The costs at the last reset.
    reported: CallCosts,
}

/// The number of contexts whose sums are allocated together.
const CHUNK: usize = 512;

/// Sums by context. Contexts that are near each other belong to the same threads, so there is memory for their chunks alone.
#[derive(Default)]
struct CallCosts(List<Option<Box<[CallSums; CHUNK]>>>);

impl CallCosts {
    fn add(&mut self, context: ContextId, sums: CallSums) {
        let (chunk, place) = (context.index() / CHUNK, context.index() % CHUNK);
        while self.0.len() <= chunk {
            self.0.push(None).or_stop();
        }
        let chunk = self.0[chunk].get_or_insert_with(|| {
            memory::need(size_of::<[CallSums; CHUNK]>());
            Box::new([CallSums::default(); CHUNK])
        });
        chunk[place] += sums;
    }

    fn get(&self, context: ContextId) -> CallSums {
        let chunk = self.0.get(context.index() / CHUNK);
        let chunk = chunk.and_then(Option::as_ref);
        chunk.map_or_else(CallSums::default, |chunk| chunk[context.index() % CHUNK])
    }
}

impl Ledger {
    /// Creates a ledger.
    pub(super) fn new(
        env: Env,
        registered: Arc<RegisteredThreads>,
        tables: Arc<Tables>,
        stacks: Arc<Stacks>,
        shape: TraceShape,
        measure: Measure,
    ) -> Self {
        Self {
            env,
            registered,
            tables,
            stacks,
            shape,
            measure,
            contexts: Mutex::default(),
            books: Mutex::new(Books {
                threads: Vec::new(),
                overhead: match measure {
                    Measure::Timed { overhead, .. } => overhead,
                    Measure::Sampled { .. } => 0,
                },
                shortest_leaf: u64::MAX,
                events: 0,
            }),
        }
    }

    /// Returns the clock of calls; `None` if they are only counted.
    pub(super) fn timing(&self) -> Option<Timing> {
        match self.measure {
            Measure::Timed { timing, .. } => Some(timing),
            Measure::Sampled { .. } => None,
        }
    }

    /// Creates a tree for the current thread.
    pub(super) fn new_tree(&self) -> Tree {
        let thread = self.shape.threads.then(|| self.current_thread());
        let kind = match self.measure {
            Measure::Timed { .. } => CellUse::Timed,
            Measure::Sampled { .. } => CellUse::Sampled,
        };
        Tree::new(&self.tables, self.shape.depth, thread, kind)
    }

    fn current_thread(&self) -> ThreadSerial {
        let serial = self
            .env
            .with_current_jni(|jni| self.registered.current(jni));
        serial.flatten().map_or(ThreadSerial::UNKNOWN, ThreadSerial)
    }

    /// Returns the methods on the current thread's stack, outermost first, without the method just entered and its
    /// hook; `None` if the VM refuses.
    pub(super) fn callers_of_current_method(&self) -> Option<Vec<MethodNames>> {
        const HOOK_AND_METHOD: usize = 2;
        let mut stack = StackBuffer::default();
        stack.take(usize::MAX, |room| {
            self.env.stack_trace(None, room).unwrap_or(0)
        });
        let callers = stack.frames().get(HOOK_AND_METHOD..)?;
        let methods = self
            .env
            .with_current_jni(|jni| self.stacks.methods(jni, callers))?
            .ok()?;
        let methods = methods.iter().rev();
        Some(methods.map(|method| self.names(method)).collect())
    }

    /// Returns the method with that number.
    pub(super) fn method(&self, number: u32) -> Option<MethodNames> {
        let frame = self.tables.frames.find(number)?;
        Some(self.names(&self.tables.frames.get(frame).method))
    }

    fn names(&self, method: &frame::Method) -> MethodNames {
        MethodNames {
            class: self.tables.classes.get(method.class).name,
            name: method.name,
            signature: method.signature,
        }
    }

    /// Notes that the current thread begins to measure.
    pub(super) fn opened(&self, record: Arc<ThreadRecord>) {
        self.books.lock().threads.push(record);
    }

    /// Notes that the thread of a record has stopped measuring. That can take a second if it has millions of contexts.
    pub(super) fn closed(&self, record: &Arc<ThreadRecord>) {
        let mut contexts = self.contexts.lock();
        if !self.books.lock().close(record) {
            return;
        }
        let AllContexts { table, ended, .. } = &mut *contexts;
        record
            .contexts
            .each(table, |context, sums| ended.add(context, sums));
    }

    /// Gives back the memory of all threads' contexts, which they may still be using: after the last costs have been read, and the
    /// hooks do nothing any more.
    pub(super) fn discard(&self) {
        let threads = std::mem::take(&mut self.books.lock().threads);
        for thread in threads {
            thread.contexts.discard();
            thread.cache.iter().for_each(SharedCache::discard);
        }
    }

    /// Calls `read` with the costs since the last reset. Meanwhile no thread can end.
    pub(super) fn read_costs(&self, totals: Totals, read: &mut dyn FnMut(&ContextCosts<'_>)) {
        let mut contexts = self.contexts.lock();
        let (threads, overhead) = {
            let books = self.books.lock();
            (books.threads.clone(), books.current_overhead())
        };
        let AllContexts {
            table,
            ended,
            reported,
        } = &mut *contexts;
        let mut open = CallCosts::default();
        for record in threads {
            let contexts = &record.contexts;
            contexts.each(table, |context, sums| open.add(context, sums));
            if let Some(timed) = &record.timed {
                add_open(&mut open, &record, timed, table);
            }
        }
        let now = |context| {
            let mut sums = ended.get(context);
            sums += open.get(context);
            sums
        };
        read(&ContextCosts {
            table,
            cost_of: &|context| self.cost(now(context).since(reported.get(context)), overhead),
        });
        if totals.start_anew() {
            let mut all = CallCosts::default();
            for context in table.ids() {
                all.add(context, now(context));
            }
            *reported = all;
        }
    }

    /// Returns the time that measuring has taken in the events of all threads since the beginning, in nanoseconds.
    pub(super) fn spent(&self) -> u64 {
        let Some(timing) = self.timing() else {
            return 0;
        };
        let books = self.books.lock();
        let of_threads = books.timed().map(|timed| timed.stack.events());
        let events = of_threads.fold(books.events, u64::saturating_add);
        let ticks = events.saturating_mul(books.current_overhead());
        timing.length.nanos(ticks)
    }

    /// Returns the number of calls of each method since the beginning.
    pub(super) fn calls_by_method(&self) -> Map<FrameId, u64> {
        let contexts = self.contexts.lock();
        let traces = &self.tables.traces;
        let mut calls = Map::<FrameId, u64>::default();
        let mut add = |method: FrameId, count: u64| {
            if count > 0 {
                *calls.get_or_default(method).or_stop() += count;
            }
        };
        for context in contexts.table.ids() {
            if let [Some(method), _] = contexts.table.innermost_two(context, traces) {
                add(method, contexts.ended.get(context).calls);
            }
        }
        let threads = self.books.lock().threads.clone();
        for record in threads {
            record.contexts.each_method(traces, &mut add);
        }
        calls
    }

    /// Converts sums to time, without the cost of measuring.
    fn cost(&self, sums: CallSums, overhead: u64) -> Cost {
        let nanos = |amount: u64, gaps: u64| match self.measure {
            Measure::Timed { timing, .. } => timing
                .length
                .nanos(amount.saturating_sub(gaps.saturating_mul(overhead))),
            Measure::Sampled { interval } => amount.saturating_mul(interval),
        };
        Cost {
            calls: sums.calls,
            own: nanos(sums.own, sums.gaps),
            total: nanos(sums.total, sums.total_gaps),
        }
    }
}

impl Books {
    /// Removes a thread's record; returns `false` if there is none.
    fn close(&mut self, record: &Arc<ThreadRecord>) -> bool {
        let same = |other: &Arc<ThreadRecord>| Arc::ptr_eq(other, record);
        let Some(place) = self.threads.iter().position(same) else {
            return false;
        };
        self.threads.swap_remove(place);
        if let Some(timed) = &record.timed {
            let leaf = timed.shortest_leaf.load(Ordering::Relaxed);
            self.shortest_leaf = self.shortest_leaf.min(leaf);
            self.events += timed.stack.events();
        }
        true
    }

    fn timed(&self) -> impl Iterator<Item = &TimedRecord> {
        let timed = self.threads.iter().map(|record| record.timed.as_deref());
        timed.flatten()
    }

    /// Returns the cost of measuring: the shortest leaf call seen so far, which itself takes only a nanosecond or two.
    /// If a clock jumped, the result must still not be less than the known cost of a hook.
    fn current_overhead(&self) -> u64 {
        let leaves = self
            .timed()
            .map(|timed| timed.shortest_leaf.load(Ordering::Relaxed));
        match leaves.chain([self.shortest_leaf]).min() {
            None | Some(u64::MAX) => self.overhead,
            Some(shortest) => shortest.max(self.overhead),
        }
    }
}

/// Adds the time of calls that have not returned yet.
fn add_open(
    costs: &mut CallCosts,
    record: &ThreadRecord,
    timed: &TimedRecord,
    table: &mut ContextTable,
) {
    let context = timed.top.load(Ordering::Relaxed);
    let open = timed.clock.since_last();
    let mut calls = Vec::new();
    let own = CallSums {
        own: open,
        gaps: 1,
        ..CallSums::default()
    };
    if context != super::call_tree::ROOT {
        calls.push((context, own));
    }
    timed.stack.each_open(|context, ticks, gaps| {
        let sums = CallSums {
            total: ticks + open,
            total_gaps: gaps + 1,
            ..CallSums::default()
        };
        calls.push((context, sums));
    });
    let ids = record.contexts.merge(table);
    for (context, sums) in calls {
        if let Some(context) = ids.get(context) {
            costs.add(context, sums);
        }
    }
}
