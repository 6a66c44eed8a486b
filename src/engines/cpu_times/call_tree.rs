//! The contexts in which one thread has called methods, and the cost of each.
//!
//! A context corresponds to a trace: a method and its callers, at most `depth` frames. Deep recursion cycles through a
//! few contexts, so there are never more contexts than different traces.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use foldhash::fast::FixedState;
use std::collections::HashMap;

use locks::{Mutex, rank};
use names::Tables;
use names::thread::ThreadSerial;
use names::trace::{TraceId, TraceKey};

/// The number of tallies that are allocated together.
const BLOCK: usize = 64;
/// The number of callees that are searched linearly; further ones are in a hash table.
const SIDE_BY_SIDE: usize = 12;
/// A number that no method has: memory would run out before there were that many frames.
const NO_METHOD: u32 = u32::MAX;

/// The context of a thread that is in no method.
pub(super) const ROOT: u32 = 0;

/// The cost of a context, in ticks. Only its thread writes it, so plain loads and stores suffice; others read it.
#[derive(Default)]
pub(super) struct CallTally {
    calls: AtomicU64,
    gaps: AtomicU64,
    own: AtomicU64,
    total: AtomicU64,
    total_gaps: AtomicU64,
}

/// The values of a tally at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallSums {
    /// The number of calls that have begun.
    pub calls: u64,
    /// The number of pieces in `own`: the time between two events of the thread is one piece, and includes the cost of
    /// measuring once.
    pub gaps: u64,
    /// Ticks in the method itself.
    pub own: u64,
    /// Ticks in it and below it.
    pub total: u64,
    /// The number of pieces in `total`.
    pub total_gaps: u64,
}

type TallyBlock = [CallTally; BLOCK];

/// The contexts of one thread.
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Callees that did not fit into [`Node::callees`].
    more_callees: HashMap<(u32, u32), u32, FixedState>,
    by_trace: HashMap<TraceId, u32, FixedState>,
    thread: Option<ThreadSerial>,
    depth: usize,
    /// Weak, because a thread keeps its tree when the run is over, but the tables must be freed.
    tables: Weak<Tables>,
    published: Arc<Published>,
}

/// The part of a tree that other threads read.
#[derive(Default)]
pub(super) struct Published(Mutex<Contexts, rank::PublishedContexts>);

#[derive(Default)]
struct Contexts {
    traces: Vec<TraceId>,
    blocks: Vec<Arc<TallyBlock>>,
}

struct Node {
    block: Arc<TallyBlock>,
    slot: u32,
    trace: TraceId,
    /// The callee that was looked up last, and its context.
    last_method: u32,
    last: u32,
    /// `true` if the stack has a frame of this context whose time counts as total.
    open: bool,
    callees: Vec<(u32, u32)>,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(amount),
        Ordering::Relaxed,
    );
}

impl CallTally {
    fn sums(&self) -> CallSums {
        CallSums {
            calls: self.calls.load(Ordering::Relaxed),
            gaps: self.gaps.load(Ordering::Relaxed),
            own: self.own.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
            total_gaps: self.total_gaps.load(Ordering::Relaxed),
        }
    }
}

impl std::ops::AddAssign for CallSums {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.gaps += other.gaps;
        self.own += other.own;
        self.total += other.total;
        self.total_gaps += other.total_gaps;
    }
}

impl CallSums {
    /// Returns the difference to `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            gaps: self.gaps.saturating_sub(earlier.gaps),
            own: self.own.saturating_sub(earlier.own),
            total: self.total.saturating_sub(earlier.total),
            total_gaps: self.total_gaps.saturating_sub(earlier.total_gaps),
        }
    }
}

impl Node {
    #[inline]
    fn tally(&self) -> &CallTally {
        &self.block[self.slot as usize % BLOCK]
    }
}

impl Tree {
    /// Creates a tree with only the root. `thread` is the thread of its traces, if traces are kept apart by thread.
    pub(super) fn new(tables: &Arc<Tables>, depth: usize, thread: Option<ThreadSerial>) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            more_callees: HashMap::default(),
            by_trace: HashMap::default(),
            thread,
            depth,
            tables: Arc::downgrade(tables),
            published: Arc::default(),
        };
        tree.push(TraceId::EMPTY);
        // With a depth of 0 calls have the empty trace, too, but in a context other than the root.
        tree.by_trace.clear();
        tree
    }

    /// Returns the part that other threads may read.
    pub(super) fn published(&self) -> Arc<Published> {
        self.published.clone()
    }

    /// Charges time to a context.
    #[inline]
    pub(super) fn charge(&self, context: u32, ticks: u64) {
        let tally = self.nodes[context as usize].tally();
        add(&tally.own, ticks);
        add(&tally.gaps, 1);
    }

    /// Counts a call.
    #[inline]
    pub(super) fn count(&self, context: u32) {
        add(&self.nodes[context as usize].tally().calls, 1);
    }

    /// Begins to count total time for a context; returns `false` if a frame further out already does.
    #[inline]
    pub(super) fn open(&mut self, context: u32) -> bool {
        !std::mem::replace(&mut self.nodes[context as usize].open, true)
    }

    /// Ends counting total time for a context.
    #[inline]
    pub(super) fn close(&mut self, context: u32, ticks: u64, gaps: u64) {
        let node = &mut self.nodes[context as usize];
        node.open = false;
        add(&node.tally().total, ticks);
        add(&node.tally().total_gaps, gaps);
    }

    /// As `close`, for a frame that stays on a stack which leaves the thread.
    pub(super) fn suspend(&mut self, context: u32) {
        self.nodes[context as usize].open = false;
    }

    /// Returns the context of a method called in another context; `None` if there is no such method.
    #[inline]
    pub(super) fn callee(&mut self, context: u32, method: u32) -> Option<u32> {
        let node = &self.nodes[context as usize];
        if node.last_method == method {
            return Some(node.last);
        }
        self.find(context, method)
    }

    #[inline(never)]
    fn find(&mut self, context: u32, method: u32) -> Option<u32> {
        let node = &mut self.nodes[context as usize];
        let known = node.callees.iter().find(|(callee, _)| *callee == method);
        let known = known.map(|&(_, found)| found);
        let known = match known {
            None if node.callees.len() == SIDE_BY_SIDE => {
                self.more_callees.get(&(context, method)).copied()
            }
            known => known,
        };
        let found = match known {
            Some(found) => found,
            None => self.make(context, method)?,
        };
        let node = &mut self.nodes[context as usize];
        node.last_method = method;
        node.last = found;
        Some(found)
    }

    fn make(&mut self, context: u32, method: u32) -> Option<u32> {
        let tables = self.tables.upgrade()?;
        let method_frame = tables.frames.find(method)?;
        let callers = tables.traces.get(self.nodes[context as usize].trace).frames;
        let frames: Vec<_> = std::iter::once(method_frame)
            .chain(callers)
            .take(self.depth)
            .collect();
        let trace = tables.traces.intern(TraceKey {
            thread: self.thread,
            frames: &frames,
        });
        memory::need_to_hash(
            self.more_callees.len(),
            self.more_callees.capacity(),
            size_of::<((u32, u32), u32)>(),
        );
        let found = match self.by_trace.get(&trace) {
            Some(&found) => found,
            None => self.push(trace),
        };
        let callees = &mut self.nodes[context as usize].callees;
        if callees.len() < SIDE_BY_SIDE {
            callees.push((method, found));
        } else {
            self.more_callees.insert((context, method), found);
        }
        Some(found)
    }

    fn push(&mut self, trace: TraceId) -> u32 {
        let index = self.nodes.len();
        memory::need_to_grow(index, self.nodes.capacity(), size_of::<Node>());
        memory::need_to_hash(
            self.by_trace.len(),
            self.by_trace.capacity(),
            size_of::<(TraceId, u32)>(),
        );
        let block = {
            let mut contexts = self.published.0.lock();
            memory::need_to_grow(index, contexts.traces.capacity(), size_of::<TraceId>());
            if index.is_multiple_of(BLOCK) {
                contexts
                    .blocks
                    .push(Arc::new(std::array::from_fn(|_| CallTally::default())));
            }
            contexts.traces.push(trace);
            contexts.blocks[index / BLOCK].clone()
        };
        let context = u32::try_from(index).expect("4 G contexts do not fit in memory");
        #[expect(clippy::cast_possible_truncation, reason = "BLOCK is 64")]
        let slot = context % BLOCK as u32;
        self.nodes.push(Node {
            block,
            slot,
            trace,
            last_method: NO_METHOD,
            last: ROOT,
            open: false,
            callees: Vec::new(),
        });
        self.by_trace.insert(trace, context);
        context
    }
}

impl Published {
    /// Returns the trace of a context.
    pub(super) fn trace(&self, context: u32) -> Option<TraceId> {
        self.0.lock().traces.get(context as usize).copied()
    }

    /// Calls `visit` with every trace and its cost up to now.
    pub(super) fn each(&self, mut visit: impl FnMut(TraceId, CallSums)) {
        let contexts = self.0.lock();
        let tallies = contexts.blocks.iter().flat_map(|block| block.iter());
        for (&trace, tally) in contexts.traces.iter().zip(tallies).skip(1) {
            visit(trace, tally.sums());
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use names::frame::{Frame, Line, Method};
    use names::loader::LoaderId;
    use names::object::ObjectId;

    /// Creates `count` methods, numbered 0, 1, ...
    pub(in crate::engines::cpu_times) fn methods(tables: &Tables, count: u32) {
        let string = |text: &str| tables.strings.intern(text);
        let class = tables
            .classes
            .intern(LoaderId::BOOT, string("A"), || ObjectId(1))
            .id();
        for number in 0..count {
            let method = Method {
                class,
                name: string(&format!("m{number}")),
                signature: string("()V"),
                source_file: None,
            };
            let frame = Frame {
                method,
                line: Line::Unknown,
            };
            assert_eq!(tables.frames.intern(frame).index(), number);
        }
    }

    /// Creates a tree and its tables, which the tree does not keep alive.
    fn tree(depth: usize, count: u32) -> (Tree, Arc<Tables>) {
        let tables = Arc::new(Tables::default());
        methods(&tables, count);
        (Tree::new(&tables, depth, None), tables)
    }

    fn context(tree: &mut Tree, path: &[u32]) -> u32 {
        path.iter().fold(ROOT, |context, &method| {
            tree.callee(context, method).expect("a method")
        })
    }

    #[test]
    fn a_context_is_the_innermost_frames() {
        let (mut tree, tables) = tree(2, 5);
        let deep = context(&mut tree, &[0, 1, 2, 3]);
        assert_eq!(context(&mut tree, &[4, 2, 3]), deep, "two frames make it");
        assert_ne!(context(&mut tree, &[2, 3]), context(&mut tree, &[1, 3]));
        let trace = tree.published.trace(deep).expect("a trace");
        let frames = tables.traces.get(trace).frames;
        assert_eq!(
            frames.iter().map(|frame| frame.index()).collect::<Vec<_>>(),
            [3, 2]
        );
    }

    #[test]
    fn a_recursion_goes_round_in_few_contexts() {
        let (mut tree, _tables) = tree(4, 2);
        let path: Vec<u32> = (0..10_000).map(|step| step % 2).collect();
        context(&mut tree, &path);
        assert!(tree.nodes.len() <= 1 + 3 + 2, "{}", tree.nodes.len());
    }

    #[test]
    fn many_callees_of_one_method_are_told_apart() {
        let (mut tree, _tables) = tree(3, 1_000);
        let first: Vec<u32> = (1..1_000)
            .map(|method| context(&mut tree, &[0, method]))
            .collect();
        let again: Vec<u32> = (1..1_000)
            .map(|method| context(&mut tree, &[0, method]))
            .collect();
        assert_eq!(first, again);
        let mut distinct = first;
        distinct.dedup();
        assert_eq!(distinct.len(), 999);
    }

    #[test]
    fn a_number_that_is_no_method_has_no_context() {
        let (mut tree, _tables) = tree(3, 2);
        assert_eq!(tree.callee(ROOT, 2), None);
        assert_eq!(tree.callee(ROOT, u32::MAX - 1), None);
    }

    #[test]
    fn costs_add_up() {
        let (mut tree, _tables) = tree(3, 2);
        let context = context(&mut tree, &[0, 1]);
        assert!(tree.open(context) && !tree.open(context));
        for ticks in [5, 7] {
            tree.count(context);
            tree.charge(context, ticks);
        }
        tree.close(context, 20, 3);
        let mut seen = Vec::new();
        tree.published.each(|_, sums| seen.push(sums));
        let cost = CallSums {
            calls: 2,
            gaps: 2,
            own: 12,
            total: 20,
            total_gaps: 3,
        };
        assert_eq!(seen, [CallSums::default(), cost], "the root is not shown");
    }
}
