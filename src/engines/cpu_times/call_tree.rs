//! The contexts in which one thread has called methods, and the cost of each.
//!
//! A context corresponds to a trace: a method and its callers, at most `depth` frames. One with fewer frames is found through its
//! caller's context alone, and has no trace before one is written. One with `depth` frames, whose outer callers are cut
//! off, is found through its trace, so deep recursion cycles through a few contexts, and there are never more contexts than
//! different traces. When the costs are read, the contexts of all threads are put together in a `ContextTable`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use super::context_table::{ContextId, ContextTable};
use jvmti::{Callee, ContextCell};
use locks::{Mutex, MutexGuard, rank};
use memory::{List, Map, Mapped, OrStop};
use names::Tables;
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::{TraceId, TraceKey, Traces};

/// The number of contexts in a block.
const BLOCK: usize = 64;
/// The most blocks whose nodes are mapped together.
const MAPPED_BLOCKS: usize = 64;
/// The number of callees in a [`CalleeList`]; further ones are in a hash table.
const SIDE_BY_SIDE: usize = 8;
/// A number that no method has: memory would run out before there were that many frames.
const NO_METHOD: u32 = u32::MAX;

/// The context of a thread that is in no method.
pub(super) const ROOT: u32 = 0;

/// What an event of a thread reads and writes of a context, on one cache line: with whole stacks there are millions of contexts,
/// and each further line would have to be fetched from memory at most calls. Only the context's thread writes it, so plain loads
/// and stores suffice; others read the costs. [`ContextCell::more`] has the number of pieces in `own`, the total time and its
/// pieces if calls are timed; [`ContextCell::list`] the place of its list in [`Tree::lists`], from 1, if there are more
/// callees than `recent` has; [`ContextCell::flag`] is 1 if the stack has a frame of this context whose time counts as total.
type Node = ContextCell;

const GAPS: usize = 0;
const TOTAL: usize = 1;
const TOTAL_GAPS: usize = 2;

/// The use of contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellUse {
    /// Calls are timed.
    Timed,
    /// Calls are counted by bytecode, and sampled.
    Sampled,
}

/// The values of a context's costs at one moment.
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

/// What makes a context different from all others of its thread.
#[derive(Clone, Copy)]
enum Origin {
    Root,
    /// The context has all its callers, `frames` with its own method, fewer than `depth`.
    Called {
        caller: u32,
        method: FrameId,
        frames: u32,
    },
    /// The context has the innermost `depth` frames.
    Cut(TraceId),
}

/// Contexts that were made one after the other. Those that exist have an origin.
#[derive(Clone)]
struct Block {
    nodes: Mapped<Node>,
    origins: Arc<[OnceLock<Origin>; BLOCK]>,
}

/// Maps the nodes of blocks, more and more of them together.
struct NodeMapper {
    mapped: Mapped<Node>,
    /// The number of nodes that are in a block.
    used: usize,
}

/// The callees of one context.
struct CalleeList {
    methods: [u32; SIDE_BY_SIDE],
    contexts: [u32; SIDE_BY_SIDE],
    count: u32,
}

/// The contexts of one thread.
pub(super) struct Tree {
    /// Those of the blocks.
    nodes: List<Mapped<Node>>,
    mapper: NodeMapper,
    count: usize,
    lists: List<CalleeList>,
    /// Callees that did not fit into their context's list.
    more_callees: Map<(u32, u32), u32>,
    /// The contexts with `depth` frames.
    cut: Map<TraceId, u32>,
    depth: u32,
    cell_use: CellUse,
    /// Weak, because a thread keeps its tree when the run is over, but the tables must be freed.
    tables: Weak<Tables>,
    published: Arc<Published>,
}

/// The part of a tree that other threads read.
pub(super) struct Published {
    /// The thread of its traces, if traces are kept apart by thread.
    thread: Option<ThreadSerial>,
    cell_use: CellUse,
    /// Empty after [`Published::discard`].
    blocks: Mutex<List<Block>, rank::PublishedContexts>,
    /// The contexts in the table of all threads, as far as somebody has put them there.
    ids: Mutex<List<ContextId>, rank::ContextIds>,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(amount),
        Ordering::Relaxed,
    );
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

/// Returns the context of a recent callee, if it is this method.
#[inline]
fn context_of(callee: &Callee, method: u32) -> Option<u32> {
    (callee.method.load(Ordering::Relaxed) == method)
        .then(|| callee.context.load(Ordering::Relaxed))
}

fn get(callee: &Callee) -> (u32, u32) {
    (
        callee.method.load(Ordering::Relaxed),
        callee.context.load(Ordering::Relaxed),
    )
}

#[inline]
fn set(callee: &Callee, method: u32, context: u32) {
    callee.method.store(method, Ordering::Relaxed);
    callee.context.store(context, Ordering::Relaxed);
}

fn sums(node: &Node, cell_use: CellUse) -> CallSums {
    let more = |place: usize| match cell_use {
        CellUse::Timed => node.more[place].load(Ordering::Relaxed),
        CellUse::Sampled => 0,
    };
    CallSums {
        calls: node.calls.load(Ordering::Relaxed),
        gaps: more(GAPS),
        own: node.own.load(Ordering::Relaxed),
        total: more(TOTAL),
        total_gaps: more(TOTAL_GAPS),
    }
}

/// Makes a callee the one that was looked up last.
#[inline]
fn looked_up(node: &Node, method: u32, context: u32) {
    let [latest, earlier] = &node.recent;
    let (method_before, context_before) = get(latest);
    set(earlier, method_before, context_before);
    set(latest, method, context);
}

impl Block {
    fn new(nodes: Mapped<Node>) -> Self {
        Self {
            nodes,
            origins: Arc::new([const { OnceLock::new() }; BLOCK]),
        }
    }
}

impl NodeMapper {
    fn new() -> Self {
        Self {
            mapped: Mapped::zeroed(BLOCK).or_stop(),
            used: 0,
        }
    }

    /// Returns the nodes of the next block.
    fn next(&mut self) -> Mapped<Node> {
        if self.used == self.mapped.len() {
            let blocks = (2 * self.used / BLOCK).min(MAPPED_BLOCKS);
            self.mapped = Mapped::zeroed(blocks * BLOCK).or_stop();
            self.used = 0;
        }
        let first = self.used;
        self.used += BLOCK;
        self.mapped.part(first..self.used)
    }
}

impl CalleeList {
    fn new() -> Self {
        Self {
            methods: [NO_METHOD; SIDE_BY_SIDE],
            contexts: [ROOT; SIDE_BY_SIDE],
            count: 0,
        }
    }

    fn context_of(&self, method: u32) -> Option<u32> {
        let place = self.methods.iter().position(|&callee| callee == method)?;
        Some(self.contexts[place])
    }

    /// Adds a callee; returns `false` if the list is full.
    fn add(&mut self, method: u32, context: u32) -> bool {
        let place = self.count as usize;
        if place == SIDE_BY_SIDE {
            return false;
        }
        self.methods[place] = method;
        self.contexts[place] = context;
        self.count += 1;
        true
    }
}

impl Tree {
    /// Creates a tree with only the root. `thread` is the thread of its traces, if traces are kept apart by thread.
    pub(super) fn new(
        tables: &Arc<Tables>,
        depth: usize,
        thread: Option<ThreadSerial>,
        cell_use: CellUse,
    ) -> Self {
        let mut tree = Self {
            nodes: List::new(),
            mapper: NodeMapper::new(),
            count: 0,
            lists: List::new(),
            more_callees: Map::default(),
            cut: Map::default(),
            // A stack with more frames does not exist.
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            cell_use,
            tables: Arc::downgrade(tables),
            published: Arc::new(Published {
                thread,
                cell_use,
                blocks: Mutex::default(),
                ids: Mutex::default(),
            }),
        };
        tree.push(Origin::Root);
        tree
    }

    /// Returns the part that other threads may read.
    pub(super) fn published(&self) -> Arc<Published> {
        self.published.clone()
    }

    #[inline]
    fn node(&self, context: u32) -> &Node {
        &self.nodes[context as usize / BLOCK][context as usize % BLOCK]
    }

    /// Charges time to a context.
    #[inline]
    pub(super) fn charge(&self, context: u32, ticks: u64) {
        let node = self.node(context);
        add(&node.own, ticks);
        add(&node.more[GAPS], 1);
    }

    /// Counts a call.
    #[inline]
    pub(super) fn count(&self, context: u32) {
        add(&self.node(context).calls, 1);
    }

    /// Begins to count total time for a context; returns `false` if a frame further out already does.
    #[inline]
    pub(super) fn open(&self, context: u32) -> bool {
        let open = &self.node(context).flag;
        let was_open = open.load(Ordering::Relaxed);
        open.store(1, Ordering::Relaxed);
        was_open == 0
    }

    /// Ends counting total time for a context.
    #[inline]
    pub(super) fn close(&self, context: u32, ticks: u64, gaps: u64) {
        let node = self.node(context);
        node.flag.store(0, Ordering::Relaxed);
        add(&node.more[TOTAL], ticks);
        add(&node.more[TOTAL_GAPS], gaps);
    }

    /// As `close`, for a frame that stays on a stack which leaves the thread.
    pub(super) fn suspend(&self, context: u32) {
        self.node(context).flag.store(0, Ordering::Relaxed);
    }

    /// Returns the nodes of contexts, block by block, from the block with that index on.
    pub(super) fn nodes_from(&self, first: usize) -> &[Mapped<Node>] {
        self.nodes.get(first..).unwrap_or_default()
    }

    /// Returns the method of a context; `None` for the root.
    pub(super) fn method(&self, context: u32) -> Option<u32> {
        let origin = origin(&self.published.blocks.lock(), context)?;
        match origin {
            Origin::Root => None,
            Origin::Called { method, .. } => Some(method.index()),
            Origin::Cut(trace) => {
                let tables = self.tables.upgrade()?;
                Some(tables.traces.frame(trace, 0)?.index())
            }
        }
    }

    /// Returns the context of a method called in another context; `None` if there is no such method.
    #[inline]
    pub(super) fn callee(&mut self, context: u32, method: u32) -> Option<u32> {
        let node = self.node(context);
        let [latest, earlier] = &node.recent;
        if let Some(found) = context_of(latest, method) {
            return Some(found);
        }
        if let Some(found) = context_of(earlier, method) {
            looked_up(node, method, found);
            return Some(found);
        }
        self.find(context, method)
    }

    #[inline(never)]
    fn find(&mut self, context: u32, method: u32) -> Option<u32> {
        let found = match self.listed(context, method) {
            Some(found) => found,
            None => self.make(context, method)?,
        };
        looked_up(self.node(context), method, found);
        Some(found)
    }

    fn listed(&self, context: u32, method: u32) -> Option<u32> {
        let list = self.node(context).list.load(Ordering::Relaxed);
        let list = self.lists.get(list.checked_sub(1)? as usize)?;
        let found = list.context_of(method);
        found.or_else(|| match list.count as usize {
            SIDE_BY_SIDE => self.more_callees.get(&(context, method)).copied(),
            _ => None,
        })
    }

    fn make(&mut self, context: u32, method: u32) -> Option<u32> {
        let tables = self.tables.upgrade()?;
        let frame = tables.frames.find(method)?;
        let origin = self.callee_origin(&tables, context, frame)?;
        self.make_room();
        let found = match origin {
            Origin::Cut(trace) => match self.cut.get(&trace) {
                Some(&found) => found,
                None => {
                    let made = self.push(origin)?;
                    self.cut.insert(trace, made).or_stop();
                    made
                }
            },
            Origin::Root | Origin::Called { .. } => self.push(origin)?,
        };
        self.list(context, method, found);
        Some(found)
    }

    /// Makes room for one more context, so that it is everywhere or nowhere.
    fn make_room(&mut self) {
        if self.count.is_multiple_of(BLOCK) {
            self.published.blocks.lock().reserve(1).or_stop();
            self.nodes.reserve(1).or_stop();
        }
        self.lists.reserve(1).or_stop();
        self.more_callees.make_room().or_stop();
        self.cut.make_room().or_stop();
    }

    /// Returns the origin of a method called in a context; `None` if the contexts have been discarded.
    fn callee_origin(&self, tables: &Tables, context: u32, method: FrameId) -> Option<Origin> {
        let blocks = self.published.blocks.lock();
        let caller = origin(&blocks, context)?;
        let frames = 1 + match caller {
            Origin::Root => 0,
            Origin::Called { frames, .. } => frames,
            Origin::Cut(_) => self.depth,
        };
        if frames < self.depth {
            return Some(Origin::Called {
                caller: context,
                method,
                frames,
            });
        }
        let mut innermost = vec![method];
        match caller {
            Origin::Cut(trace) => innermost.extend(tables.traces.get(trace).frames),
            Origin::Root | Origin::Called { .. } => {
                innermost.extend(callers(&blocks, context).map(|(_, method)| method));
            }
        }
        drop(blocks);
        innermost.truncate(self.depth as usize);
        Some(Origin::Cut(tables.traces.intern(TraceKey {
            thread: self.published.thread,
            frames: &innermost,
        })))
    }

    /// Adds a context; [`Tree::make_room`] comes first. `None` if the contexts have been discarded.
    fn push(&mut self, origin: Origin) -> Option<u32> {
        let place = self.count % BLOCK;
        let mut blocks = self.published.blocks.lock();
        if place == 0 {
            let nodes = self.mapper.next();
            blocks.push(Block::new(nodes.clone())).or_stop();
            self.nodes.push(nodes).or_stop();
        }
        let block = blocks.last()?;
        let context = u32::try_from(self.count).expect("4 G contexts do not fit in memory");
        let node = &block.nodes[place];
        for callee in &node.recent {
            set(callee, NO_METHOD, ROOT);
        }
        if self.cell_use == CellUse::Sampled {
            node.set_number(context);
        }
        block.origins[place].get_or_init(|| origin);
        self.count += 1;
        Some(context)
    }

    /// Keeps a callee that is new to a context, unless there is still room for it in [`Node::recent`].
    fn list(&mut self, context: u32, method: u32, found: u32) {
        let node = self.node(context);
        let list = node.list.load(Ordering::Relaxed) as usize;
        if list != 0 {
            if !self.lists[list - 1].add(method, found) {
                let more = &mut self.more_callees;
                more.insert((context, method), found).or_stop();
            }
            return;
        }
        let [latest, earlier] = node.recent.each_ref().map(get);
        if earlier.0 == NO_METHOD {
            return;
        }
        let mut list = CalleeList::new();
        for (method, context) in [latest, earlier, (method, found)] {
            list.add(method, context);
        }
        self.lists.push(list).or_stop();
        let place = u32::try_from(self.lists.len()).expect("no more lists than contexts");
        self.node(context).list.store(place, Ordering::Relaxed);
    }
}

/// Returns the origin of a context; `None` if there is no such context yet.
fn origin(blocks: &[Block], context: u32) -> Option<Origin> {
    let block = blocks.get(context as usize / BLOCK)?;
    block.origins[context as usize % BLOCK].get().copied()
}

/// Iterates over a context that has all its callers, and these, outermost last, each with its method.
fn callers(blocks: &[Block], context: u32) -> impl Iterator<Item = (u32, FrameId)> {
    let mut next = context;
    std::iter::from_fn(move || match origin(blocks, next)? {
        Origin::Called { caller, method, .. } => {
            Some((std::mem::replace(&mut next, caller), method))
        }
        Origin::Root | Origin::Cut(_) => None,
    })
}

impl Published {
    /// Calls `visit` with every context and its cost up to now.
    pub(super) fn each(
        &self,
        table: &mut ContextTable,
        mut visit: impl FnMut(ContextId, CallSums),
    ) {
        let blocks = self.blocks();
        let ids = self.merge_blocks(&blocks, table);
        let nodes = blocks.iter().flat_map(|block| &*block.nodes);
        for (&id, node) in ids.0.iter().zip(nodes).skip(1) {
            visit(id, sums(node, self.cell_use));
        }
    }

    /// Puts the contexts that are new since the last call into the table: where there is no memory for them, their innermost frame
    /// alone.
    pub(super) fn merge(&self, table: &mut ContextTable) -> ContextIds<'_> {
        self.merge_blocks(&self.blocks(), table)
    }

    /// Calls `visit` with the method of every context, and the number of its calls up to now.
    pub(super) fn each_method(&self, traces: &Traces, mut visit: impl FnMut(FrameId, u64)) {
        for block in self.blocks() {
            for (node, origin) in block.nodes.iter().zip(&*block.origins) {
                let method = match origin.get() {
                    Some(&Origin::Called { method, .. }) => Some(method),
                    Some(&Origin::Cut(trace)) => traces.frame(trace, 0),
                    Some(Origin::Root) | None => None,
                };
                if let Some(method) = method {
                    visit(method, node.calls.load(Ordering::Relaxed));
                }
            }
        }
    }

    /// Gives the memory back to the system. The thread may be at a call still: it makes no contexts any more.
    pub(super) fn discard(&self) {
        let blocks = std::mem::take(&mut *self.blocks.lock());
        blocks.iter().for_each(|block| block.nodes.discard());
        *self.ids.lock() = List::new();
    }

    fn blocks(&self) -> List<Block> {
        let blocks = self.blocks.lock();
        List::collect(blocks.iter().cloned()).or_stop()
    }

    fn merge_blocks(&self, blocks: &[Block], table: &mut ContextTable) -> ContextIds<'_> {
        let mut ids = self.ids.lock();
        let new = (blocks.len() * BLOCK).saturating_sub(ids.len());
        ids.reserve(new).or_stop();
        let mut merge = Merge {
            blocks,
            outside: table.outside(self.thread),
            whole: !memory::is_out() && table.reserve(new).is_ok(),
            table,
        };
        merge.add_new(&mut ids);
        ContextIds(ids)
    }
}

/// A thread's contexts in the table of all threads.
pub(super) struct ContextIds<'a>(MutexGuard<'a, List<ContextId>, rank::ContextIds>);

impl ContextIds<'_> {
    /// Returns the number in the table of a context.
    pub(super) fn get(&self, context: u32) -> Option<ContextId> {
        self.0.get(context as usize).copied()
    }
}

struct Merge<'a> {
    blocks: &'a [Block],
    table: &'a mut ContextTable,
    outside: ContextId,
    /// `false` if there is no memory for whole stacks.
    whole: bool,
}

impl Merge<'_> {
    /// Adds the contexts that are missing in `ids`. A caller was made before its callees.
    fn add_new(&mut self, ids: &mut List<ContextId>) {
        let first = u32::try_from(ids.len()).expect("no more ids than contexts");
        for context in first.. {
            let id = match origin(self.blocks, context) {
                None => break,
                Some(Origin::Root) => self.outside,
                Some(Origin::Cut(trace)) => self.table.cut(trace),
                Some(Origin::Called { caller, method, .. }) => {
                    let caller = ids.get(caller as usize).filter(|_| self.whole);
                    self.table
                        .called(caller.copied().unwrap_or(self.outside), method)
                }
            };
            ids.push(id).or_stop();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engines::cpu_times::context_table::TraceNaming;
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
        (Tree::new(&tables, depth, None, CellUse::Timed), tables)
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
        assert_eq!(merged(&tree, &tables, deep), [3, 2]);
    }

    #[test]
    fn contexts_of_several_threads_are_one_unless_threads_are_kept_apart() {
        let tables = Arc::new(Tables::default());
        methods(&tables, 3);
        let mut table = ContextTable::default();
        let mut of_thread = |thread: Option<u32>| {
            let thread = thread.map(ThreadSerial);
            let mut tree = Tree::new(&tables, 2, thread, CellUse::Timed);
            let contexts = [vec![0], vec![1], vec![1, 2]].map(|path| context(&mut tree, &path));
            let ids = tree.published.merge(&mut table);
            contexts.map(|context| ids.get(context).expect("merged"))
        };
        let shared = of_thread(None);
        assert_eq!(of_thread(None), shared);
        let apart = of_thread(Some(7));
        assert!(shared.iter().all(|id| !apart.contains(id)));
        for id in apart {
            let trace = TraceNaming::new(&table, &tables.traces).trace(id);
            assert_eq!(tables.traces.get(trace).thread, Some(ThreadSerial(7)));
        }
        let caller_of = |id| table.innermost_two(id, &tables.traces)[1].map(FrameId::index);
        assert_eq!(shared.map(caller_of), [None, None, Some(1)]);
    }

    #[test]
    fn a_recursion_goes_round_in_few_contexts() {
        let (mut tree, _tables) = tree(4, 2);
        let path: Vec<u32> = (0..10_000).map(|step| step % 2).collect();
        context(&mut tree, &path);
        assert!(tree.count <= 1 + 3 + 2, "{}", tree.count);
    }

    /// Returns the trace that a context has after it was put together with those of other threads, as the numbers of its methods.
    fn merged(tree: &Tree, tables: &Tables, context: u32) -> Vec<u32> {
        let mut table = ContextTable::default();
        let id = tree.published.merge(&mut table).get(context);
        let id = id.expect("merged");
        numbers(tables, TraceNaming::new(&table, &tables.traces).trace(id))
    }

    /// Returns frames as the numbers of their methods.
    fn numbers(tables: &Tables, trace: TraceId) -> Vec<u32> {
        let frames = tables.traces.get(trace).frames;
        frames.iter().map(|frame| frame.index()).collect()
    }

    #[test]
    fn contexts_get_the_innermost_frames_of_every_path_to_them() {
        for depth in [0, 1, 3, 8, 9, 40] {
            let (mut tree, tables) = tree(depth, 5);
            let mut table = ContextTable::default();
            let mut step = 1_u32;
            let mut path = Vec::new();
            let mut paths = Vec::new();
            for round in 0..2_000 {
                step = step.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match step >> 28 {
                    0..6 => path.truncate(path.len().saturating_sub((step >> 20 & 15) as usize)),
                    _ => path.push((step >> 16) % 5),
                }
                paths.push((context(&mut tree, &path), path.clone()));
                // Contexts that were merged earlier stay as they are.
                if round % 500 == 0 {
                    drop(tree.published.merge(&mut table));
                }
            }
            let ids = tree.published.merge(&mut table);
            let mut naming = TraceNaming::new(&table, &tables.traces);
            for (context, path) in paths.iter().filter(|(_, path)| !path.is_empty()) {
                let expected: Vec<u32> = path.iter().rev().take(depth).copied().collect();
                let id = ids.get(*context).expect("it is merged");
                let trace = naming.trace(id);
                assert_eq!(numbers(&tables, trace), expected, "depth {depth}");
            }
        }
    }

    #[test]
    fn without_memory_a_context_is_its_method() {
        let (mut tree, tables) = tree(10, 4);
        let deep = context(&mut tree, &[0, 1, 3]);
        let blocks = tree.published.blocks();
        let mut table = ContextTable::default();
        let mut ids = List::new();
        let mut merge = Merge {
            blocks: &blocks,
            outside: table.outside(None),
            whole: false,
            table: &mut table,
        };
        merge.add_new(&mut ids);
        let trace = TraceNaming::new(&table, &tables.traces).trace(ids[deep as usize]);
        assert_eq!(numbers(&tables, trace), [3]);
    }

    #[test]
    fn calls_of_a_method_count_in_every_context() {
        for depth in [1, 10] {
            let (mut tree, tables) = tree(depth, 4);
            for path in [&[0, 3][..], &[1, 3], &[1, 2, 3], &[1]] {
                let context = context(&mut tree, path);
                tree.count(context);
            }
            let mut calls = [0; 4];
            tree.published.each_method(&tables.traces, |method, count| {
                calls[method.index() as usize] += count;
            });
            assert_eq!(calls, [0, 1, 0, 3], "depth {depth}");
        }
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
        let mut table = ContextTable::default();
        tree.published.each(&mut table, |_, sums| seen.push(sums));
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
