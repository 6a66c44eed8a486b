//! The contexts of all threads of a run, each once: a method and its callers. Traces are made of those alone that are written.

use memory::{List, Map, OrStop, OutOfMemory};

use crate::engines::folding::StackTable;
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::{FramePlace, OuterPart, TraceId, Traces};

/// The number of a context, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ContextId(u32);

impl ContextId {
    /// Returns the position in the table.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What makes a context different from all others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Context {
    /// Outside all methods.
    Outside(Option<ThreadSerial>),
    /// A method with all its callers.
    Called { caller: ContextId, method: FrameId },
    /// The innermost frames of a stack with more.
    Cut(TraceId),
}

/// The number of callees of a context that are linked to each other; further ones are in a hash table.
const LINKED: usize = 8;

/// A context, and its callees as a linked list. Contexts are numbered from 0, and the first is no callee, so 0 ends the list.
struct Node {
    context: Context,
    first_callee: u32,
    next_callee: u32,
}

/// The table.
#[derive(Default)]
pub(super) struct ContextTable {
    nodes: List<Node>,
    /// The callees that are not in their caller's list.
    more_callees: Map<(ContextId, FrameId), ContextId>,
    outside: Map<Option<ThreadSerial>, ContextId>,
    cut: Map<TraceId, ContextId>,
    /// `true` if contexts are kept apart by thread: otherwise nobody needs to go out to the thread of each.
    has_threads: bool,
}

impl ContextTable {
    /// Returns the context of a thread that is in no method.
    pub(super) fn outside(&mut self, thread: Option<ThreadSerial>) -> ContextId {
        self.has_threads |= thread.is_some();
        if let Some(&context) = self.outside.get(&thread) {
            return context;
        }
        let new = self.add(Context::Outside(thread));
        self.outside.insert(thread, new).or_stop();
        new
    }

    /// Returns the context of a method called in another one, which is not cut.
    pub(super) fn called(&mut self, caller: ContextId, method: FrameId) -> ContextId {
        let mut last = None;
        let mut next = self.nodes[caller.index()].first_callee;
        let mut count = 0;
        while next != 0 {
            let callee = ContextId(next);
            let node = &self.nodes[callee.index()];
            if matches!(node.context, Context::Called { method: other, .. } if other == method) {
                return callee;
            }
            (last, next, count) = (Some(callee), node.next_callee, count + 1);
        }
        let is_full = count == LINKED;
        let found = is_full.then(|| self.more_callees.get(&(caller, method)).copied());
        if let Some(callee) = found.flatten() {
            return callee;
        }
        let new = self.add(Context::Called { caller, method });
        match last {
            _ if is_full => {
                self.more_callees.insert((caller, method), new).or_stop();
            }
            Some(last) => self.nodes[last.index()].next_callee = new.0,
            None => self.nodes[caller.index()].first_callee = new.0,
        }
        new
    }

    /// Returns the context that has the innermost frames alone.
    pub(super) fn cut(&mut self, trace: TraceId) -> ContextId {
        if let Some(&context) = self.cut.get(&trace) {
            return context;
        }
        let new = self.add(Context::Cut(trace));
        self.cut.insert(trace, new).or_stop();
        new
    }

    /// Makes room for so many more contexts.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), OutOfMemory> {
        self.nodes.reserve(more)
    }

    fn add(&mut self, context: Context) -> ContextId {
        let new = u32::try_from(self.nodes.len()).expect("4 G contexts do not fit in memory");
        let node = Node {
            context,
            first_callee: 0,
            next_callee: 0,
        };
        self.nodes.push(node).or_stop();
        ContextId(new)
    }

    /// Iterates over all contexts, in the order in which they were first seen.
    pub(super) fn ids(&self) -> impl Iterator<Item = ContextId> + use<> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..count).map(ContextId)
    }

    /// Returns the frame of a context and that of its caller, as far as it has them.
    pub(super) fn innermost_two(
        &self,
        context: ContextId,
        traces: &Traces,
    ) -> [Option<FrameId>; 2] {
        let contexts = InTraces {
            table: self,
            traces,
        };
        let Some((callee, callers)) = contexts.split(context.into()) else {
            return [None; 2];
        };
        let caller = contexts.split(callers).map(|(caller, _)| caller);
        [Some(callee), caller]
    }

    fn context(&self, context: ContextId) -> Context {
        self.nodes[context.index()].context
    }

    /// Returns the contexts as a table of stacks.
    pub(super) fn stacks<'a>(&'a self, traces: &'a Traces) -> impl StackTable<Stack = Stack> + 'a {
        InTraces {
            table: self,
            traces,
        }
    }
}

/// Finds the traces of contexts. Where each has its outer frames in common with the one before, only the others are looked up.
pub(super) struct TraceNaming<'a> {
    table: &'a ContextTable,
    traces: &'a Traces,
    /// The context that was named last and its callers, outermost first, and their methods.
    path: List<ContextId>,
    frames: List<FrameId>,
    outer: OuterPart,
}

impl<'a> TraceNaming<'a> {
    pub(super) fn new(table: &'a ContextTable, traces: &'a Traces) -> Self {
        Self {
            table,
            traces,
            path: List::new(),
            frames: List::new(),
            outer: OuterPart::default(),
        }
    }

    /// Returns the trace of a context.
    #[inline(never)]
    pub(super) fn trace(&mut self, context: ContextId) -> TraceId {
        let mut path = List::new();
        let mut next = context;
        let thread = loop {
            match self.table.context(next) {
                Context::Called { caller, method } => {
                    path.push((next, method)).or_stop();
                    next = caller;
                }
                Context::Outside(thread) => break thread,
                Context::Cut(trace) => return trace,
            }
        };
        path.reverse();
        let before = self.path.iter().zip(path.iter());
        let shared = before.take_while(|(before, now)| **before == now.0).count();
        self.path.truncate(shared);
        self.frames.truncate(shared);
        for &(context, method) in &path[shared..] {
            self.path.push(context).or_stop();
            self.frames.push(method).or_stop();
        }
        self.outer.keep(shared);
        self.traces
            .intern_onto(&mut self.outer, thread, &self.frames)
    }
}

/// The stack of a context, or of its callers.
#[derive(Clone, Copy)]
pub(super) enum Stack {
    /// With all frames.
    Whole(ContextId),
    /// The rest of a trace.
    Cut(FramePlace),
}

impl From<ContextId> for Stack {
    fn from(context: ContextId) -> Self {
        Self::Whole(context)
    }
}

struct InTraces<'a> {
    table: &'a ContextTable,
    traces: &'a Traces,
}

impl StackTable for InTraces<'_> {
    type Stack = Stack;

    fn thread(&self, stack: Stack) -> Option<ThreadSerial> {
        if !self.table.has_threads {
            return None;
        }
        let mut context = match stack {
            Stack::Whole(context) => context,
            Stack::Cut(place) => return self.traces.thread(place.trace()),
        };
        loop {
            context = match self.table.context(context) {
                Context::Called { caller, .. } => caller,
                Context::Outside(thread) => return thread,
                Context::Cut(trace) => return self.traces.thread(trace),
            };
        }
    }

    fn split(&self, stack: Stack) -> Option<(FrameId, Stack)> {
        let place = match stack {
            Stack::Whole(context) => match self.table.context(context) {
                Context::Called { caller, method } => return Some((method, caller.into())),
                Context::Outside(_) => return None,
                Context::Cut(trace) => trace.into(),
            },
            Stack::Cut(place) => place,
        };
        let (frame, callers) = self.traces.frame_at(place)?;
        Some((frame, Stack::Cut(callers)))
    }
}
