//! The calls of one thread that bytecode does not count itself: the first in a context, and those of a caller with many callees.

use std::sync::{Arc, Weak};

use super::call_tree::Tree;
use super::hook_run::HookRun;
use super::ledger::{Ledger, ThreadRecord};
use jvmti::{CallContexts, CountHooks, SavedStack, caught, forget_call_slots};

static RUN: HookRun<CountedCalls> = HookRun::new();

/// What an entry returns that is not counted: no stack has such a position.
const NOT_COUNTED: u64 = u64::MAX;

/// Makes the hooks record to a ledger.
pub(super) fn begin(ledger: Arc<Ledger>) {
    // A thread that began its slot as the last run ended would count for that.
    forget_call_slots();
    RUN.begin(ledger);
}

/// Makes the hooks do nothing.
pub(super) fn end() {
    RUN.end();
    forget_call_slots();
}

/// Called when the current thread ends: moves its measurements to the ledger.
pub(super) fn finish() {
    RUN.finish();
}

/// Called when the current thread begins to carry a virtual thread, with the calls of that.
pub(super) fn mount(calls: Option<MethodStack>) {
    with(|local| local.mount(calls));
}

/// Called when the current thread stops carrying a virtual thread; returns the calls of that, if there are any.
pub(super) fn unmount() -> Option<MethodStack> {
    with(CountedCalls::unmount).flatten()
}

fn with<T>(body: impl FnOnce(&mut CountedCalls) -> T) -> Option<T> {
    RUN.with(CountedCalls::new, body)
}

/// The hooks of the rewritten methods.
pub(super) const HOOKS: CountHooks = CountHooks {
    entry: |method, thread| with(|local| local.entry(method, thread)).unwrap_or(NOT_COUNTED),
    exit: |position, thread| {
        with(|local| local.exit(position, thread));
    },
    leaf_entry: |method, thread| with(|local| local.leaf_entry(method, thread)).flatten(),
    panicked: || {
        RUN.stop();
        forget_call_slots();
    },
};

/// The stack of a virtual thread that is not mounted: the methods it is in. Contexts are its carrier's.
pub(super) struct MethodStack {
    stack: SavedStack,
    methods: Vec<u32>,
}

/// The state of one thread.
pub(super) struct CountedCalls {
    /// Weak, because the thread's state outlives the run, whose tables must be freed.
    ledger: Weak<Ledger>,
    record: Arc<ThreadRecord>,
    tree: Tree,
    contexts: CallContexts,
    /// The number of blocks of the tree that `contexts` holds.
    held: usize,
    /// The carrier's own calls while it carries a virtual thread, whose calls are in `contexts`.
    carrier: Option<SavedStack>,
}

impl CountedCalls {
    fn new(ledger: &Arc<Ledger>) -> Option<Self> {
        let tree = ledger.new_tree();
        let contexts = CallContexts::new(0, tree.nodes_from(0)[0].clone());
        let record = Arc::new(ThreadRecord {
            contexts: tree.published(),
            timed: None,
            cache: Some(contexts.cache()),
        });
        ledger.opened(record.clone());
        Some(Self {
            ledger: Arc::downgrade(ledger),
            record,
            tree,
            contexts,
            held: 1,
            carrier: None,
        })
    }

    fn entry(&mut self, method: u32, thread: u64) -> u64 {
        self.contexts.belongs_to(thread);
        let Some(context) = self.callee(method) else {
            return NOT_COUNTED;
        };
        self.tree.count(context);
        self.contexts.enter(context)
    }

    fn leaf_entry(&mut self, method: u32, thread: u64) -> Option<u64> {
        self.contexts.belongs_to(thread);
        let context = self.callee(method)?;
        self.tree.count(context);
        self.contexts.enter_leaf(context)
    }

    fn exit(&mut self, position: u64, thread: u64) {
        self.contexts.belongs_to(thread);
        self.contexts.leave(position);
    }

    /// Finds the context of a method that is called now, which bytecode finds from now on.
    fn callee(&mut self, method: u32) -> Option<u32> {
        let caller = self.contexts.top();
        let context = self.tree.callee(caller, method)?;
        for nodes in self.tree.nodes_from(self.held) {
            self.contexts.hold(nodes.clone());
            self.held += 1;
        }
        self.contexts.link(caller, method, context);
        Some(context)
    }

    fn mount(&mut self, calls: Option<MethodStack>) {
        let (stack, methods) = match calls {
            Some(calls) => (Some(calls.stack), calls.methods),
            None => (None, Vec::new()),
        };
        let before = self.contexts.replace(stack);
        if self.carrier.is_none() {
            self.carrier = Some(before);
        }
        for method in methods {
            if let Some(context) = self.callee(method) {
                self.contexts.enter(context);
            }
        }
    }

    fn unmount(&mut self) -> Option<MethodStack> {
        let own = self.carrier.take()?;
        let mut stack = self.contexts.replace(Some(own));
        let contexts = std::mem::take(&mut stack.contexts);
        let methods = contexts.into_iter();
        let methods: Vec<u32> = methods
            .filter_map(|context| self.tree.method(context))
            .collect();
        (!methods.is_empty()).then_some(MethodStack { stack, methods })
    }
}

impl Drop for CountedCalls {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.upgrade() {
            // Unwinding out of a thread's storage would end the process. Measurements that find no memory are lost.
            let _ = caught(|| ledger.closed(&self.record));
        }
    }
}
