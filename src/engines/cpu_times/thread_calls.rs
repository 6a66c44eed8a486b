//! The work at each event of a thread. Other threads only ever read its state.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::call_tree::{ROOT, Tree};
use super::hook_run::HookRun;
use super::ledger::{Ledger, ThreadRecord, TimedRecord};
use super::overflow::{Overflow, still_there};
use super::shadow_stack::{Call, CallStack};
use super::thread_clock::ThreadClock;
use jvmti::{CallHooks, caught};

static RUN: HookRun<ThreadCalls> = HookRun::new();

/// Makes the hooks record to a ledger.
pub(super) fn begin(ledger: Arc<Ledger>) {
    RUN.begin(ledger);
}

/// Makes the hooks do nothing.
pub(super) fn end() {
    RUN.end();
}

/// Called when the current thread ends: moves its measurements to the ledger.
pub(super) fn finish() {
    RUN.finish();
}

/// Runs `body` with the current thread's state.
#[inline]
pub(super) fn with<T>(body: impl FnOnce(&mut ThreadCalls) -> T) -> Option<T> {
    RUN.with(ThreadCalls::new, body)
}

/// The hooks of the rewritten methods.
pub(super) const HOOKS: CallHooks = CallHooks {
    entry: |method, at| {
        with(|local| local.entry(method, at));
    },
    exit: |method| {
        with(|local| local.exit(method));
    },
    panicked: || RUN.stop(),
};

/// The state of one thread.
pub(super) struct ThreadCalls {
    /// Weak, because the thread's state outlives the run, whose tables must be freed.
    ledger: Weak<Ledger>,
    record: Arc<ThreadRecord>,
    timed: Arc<TimedRecord>,
    tree: Tree,
    stack: CallStack,
    /// The carrier's own calls while it carries a virtual thread, whose calls are in `stack`.
    carrier: Option<Vec<Call>>,
    /// The context of the innermost call.
    top: u32,
    /// `true` if the last event was the entry of a method.
    entered_last: bool,
    overflow: Overflow,
}

impl ThreadCalls {
    fn new(ledger: &Arc<Ledger>) -> Option<Self> {
        let clock = ThreadClock::start(ledger.timing()?);
        let tree = ledger.new_tree();
        let stack = CallStack::new();
        let timed = Arc::new(TimedRecord {
            clock,
            top: AtomicU32::new(ROOT),
            shortest_leaf: AtomicU64::new(u64::MAX),
            stack: stack.published(),
        });
        let record = Arc::new(ThreadRecord {
            contexts: tree.published(),
            timed: Some(timed.clone()),
            cache: None,
        });
        ledger.opened(record.clone());
        Some(Self {
            ledger: Arc::downgrade(ledger),
            record,
            timed,
            tree,
            stack,
            carrier: None,
            top: ROOT,
            entered_last: false,
            overflow: Overflow::of_current_thread(),
        })
    }

    /// Charges the time since the last event to the innermost call, and returns it.
    #[inline]
    fn pass(&mut self) -> u64 {
        let gap = self.timed.clock.pass();
        self.stack.pass(gap);
        self.tree.charge(self.top, gap);
        gap
    }

    #[inline]
    fn entry(&mut self, method: u32, at: usize) {
        self.pass();
        if !self.overflow.is_usual(at) {
            self.look_for_overflow(at);
        }
        self.push(method, at);
        self.entered_last = true;
    }

    #[inline]
    fn push(&mut self, method: u32, at: usize) {
        let Some(context) = self.tree.callee(self.top, method) else {
            return;
        };
        self.tree.count(context);
        let since = self.tree.open(context).then(|| self.stack.clock());
        self.stack.push(Call {
            method,
            context,
            since,
            at,
        });
        self.set_top(context);
    }

    #[inline]
    fn exit(&mut self, method: u32) {
        let gap = self.pass();
        if self.entered_last {
            self.entered_last = false;
            self.saw_leaf(gap);
        }
        match self.stack.top() {
            Some(call) if call.method == method => self.pop(),
            _ => self.pop_to(method),
        }
    }

    /// Notes the time of a leaf call: the shortest one is nearly all cost of measuring.
    #[inline]
    fn saw_leaf(&mut self, gap: u64) {
        let shortest = &self.timed.shortest_leaf;
        if gap < shortest.load(Ordering::Relaxed) {
            shortest.store(gap, Ordering::Relaxed);
        }
    }

    #[inline]
    fn pop(&mut self) {
        let Some(call) = self.stack.pop() else { return };
        if let Some((since, gaps_since)) = call.since {
            let (clock, gaps) = self.stack.clock();
            self.tree
                .close(call.context, clock - since, gaps - gaps_since);
        }
        let top = self.stack.top().map_or(ROOT, |call| call.context);
        self.set_top(top);
    }

    /// Pops the calls down to and including that of `method`. Methods whose exit no hook reported are popped with the
    /// one around them: a constructor that failed in `super(...)`, or a handler that had no room on the stack. The exit
    /// of a method that was never entered (its hook had no room, or it belongs to a virtual thread's mount) is ignored.
    #[cold]
    fn pop_to(&mut self, method: u32) {
        if let Some(distance) = self.stack.distance(method) {
            for _ in 0..=distance {
                self.pop();
            }
        }
    }

    #[inline]
    fn set_top(&mut self, context: u32) {
        self.top = context;
        self.timed.top.store(context, Ordering::Relaxed);
    }

    /// Removes calls that an overflow has ended, because their position on the native stack is no longer in use. This
    /// is checked when a method is entered: the calls around it have higher addresses than its own. A call that is
    /// covered by its caller's new frame, for example because the caller went on in compiled code with a larger one,
    /// looks as if it were still active, so the VM's stack is consulted too.
    #[cold]
    fn look_for_overflow(&mut self, at: usize) {
        if !self.overflow.is_over(at) {
            return;
        }
        while self.stack.top().is_some_and(|call| call.at < at) {
            self.pop();
        }
        let Some(ledger) = self.ledger.upgrade() else {
            return;
        };
        let Some(methods) = ledger.callers_of_current_method() else {
            return;
        };
        let calls = self.stack.calls().map(|call| ledger.method(call.method));
        let ended = self.stack.calls().count() - still_there(calls, methods.into_iter().map(Some));
        for _ in 0..ended {
            self.pop();
        }
    }

    /// Begins to carry a virtual thread, which has these calls.
    pub(super) fn mount(&mut self, calls: Vec<Call>) {
        self.pass();
        if self.carrier.is_none() {
            self.carrier = Some(self.take_stack());
        }
        self.put_stack(calls);
    }

    /// Stops carrying a virtual thread, and returns its calls.
    pub(super) fn unmount(&mut self) -> Vec<Call> {
        self.pass();
        let Some(own) = self.carrier.take() else {
            return Vec::new();
        };
        let calls = self.take_stack();
        self.put_stack(own);
        calls
    }

    /// Empties the stack. `since` of the returned calls is the time counted so far.
    fn take_stack(&mut self) -> Vec<Call> {
        let (clock, gaps) = self.stack.clock();
        let mut calls: Vec<Call> = self.stack.calls().collect();
        for call in &mut calls {
            if let Some((since, gaps_since)) = &mut call.since {
                self.tree.suspend(call.context);
                *since = clock - *since;
                *gaps_since = gaps - *gaps_since;
            }
        }
        while self.stack.pop().is_some() {}
        self.set_top(ROOT);
        self.entered_last = false;
        calls
    }

    /// The reverse of [`ThreadCalls::take_stack`]. The calls may come from another thread, so their contexts are looked
    /// up in this one's tree.
    fn put_stack(&mut self, calls: Vec<Call>) {
        let (clock, gaps) = self.stack.clock();
        for call in calls {
            let Some(context) = self.tree.callee(self.top, call.method) else {
                continue;
            };
            let since = call
                .since
                .filter(|_| self.tree.open(context))
                .map(|(counted, pieces)| (clock - counted, gaps - pieces));
            self.stack.push(Call {
                context,
                since,
                // On another carrier's stack the address is different; this value never looks like one that is no
                // longer in use.
                at: usize::MAX,
                ..call
            });
            self.set_top(context);
        }
    }
}

impl Drop for ThreadCalls {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.upgrade() {
            // Unwinding out of a thread's storage would end the process. Measurements that find no memory are lost.
            let _ = caught(|| ledger.closed(&self.record));
        }
    }
}
