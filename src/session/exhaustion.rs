//! The resource that a program has run out of (`oom=`), and the threads that wait until that is written. `out_of_memory`
//! writes it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::engines::Context;
use jvmti::{HeapFill, HeapSize, Resource, current_tid};
use locks::{Condvar, Mutex, rank};

/// The interval at which a waiting thread checks whether the file still grows.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a thread waits while the file does not grow.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The share of the heap, as a divisor, that is in use at most if a single object was too large for it.
const HARDLY_USED: u64 = 4;

/// The limit that the program has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// The Java heap is full.
    JavaHeap,
    /// The Java heap is mostly empty: one object was too large for it.
    OneObject,
    /// Arrays cannot be so long in this VM.
    ArrayLength,
    /// The memory for classes.
    Metaspace,
    Threads,
    /// One that the agent does not know.
    Other,
}

impl Limit {
    const COUNT: usize = Self::Other as usize + 1;

    pub(super) fn new(resource: Resource, description: &str, heap: Option<HeapFill>) -> Self {
        let is_hardly_used = |heap: HeapFill| heap.used < heap.limit / HARDLY_USED;
        match resource {
            Resource::JavaHeap if heap.is_some_and(is_hardly_used) => Self::OneObject,
            Resource::JavaHeap => Self::JavaHeap,
            Resource::Threads => Self::Threads,
            Resource::Other if description.starts_with("Requested array size") => Self::ArrayLength,
            Resource::Other if description.contains("space") => Self::Metaspace,
            Resource::Other => Self::Other,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::JavaHeap => "the Java heap is full",
            Self::OneObject => "one object is larger than what is free in the Java heap",
            Self::ArrayLength => "an array would be longer than this VM allows",
            Self::Metaspace => "the memory for classes is full",
            Self::Threads => "the system gives no further thread",
            Self::Other => "a limit of the VM",
        }
    }
}

/// The resource that the program has run out of, and where.
pub struct Exhausted {
    /// The number of the file, from 1.
    pub number: u32,
    pub(super) limit: Limit,
    /// The VM's word for the limit.
    pub(super) description: String,
    pub(super) heap: Option<HeapFill>,
    pub(super) thread: String,
    /// The frames of the request, innermost first.
    pub(super) stack: Vec<String>,
    /// Where the memory of the process was when the file was begun, in a line.
    pub(super) memory: String,
}

impl Exhausted {
    /// Returns what is in the head of the file, with labels of one word.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Exhausted", self.to_string())];
        facts.extend(self.heap.map(|HeapFill { used, limit, .. }| {
            ("Heap", format!("{used} of {limit} bytes in use"))
        }));
        facts.push(("Memory", self.memory.clone()));
        facts.push(("Thread", self.thread.clone()));
        facts.push(("Stack", self.stack.join(" <- ")));
        facts.retain(|(_, value)| !value.is_empty());
        facts
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.limit.words();
        match &*self.description {
            "" => formatter.write_str(words),
            description => write!(formatter, "{description}: {words}"),
        }
    }
}

/// The resources that the program has run out of during a session.
pub(super) struct Exhaustions {
    state: Mutex<State, rank::Exhaustions>,
    changed: Condvar,
    pub(super) heap_size: Option<HeapSize>,
    /// Set once a file can be written. An atomic, because the agent's own threads may hold any lock when they look.
    pub(super) is_watching: AtomicBool,
    /// The thread that makes a dump on request, 0 for none. If the heap has no room for what that takes, the program has
    /// not run out of anything, and waiting for the file would never end: the thread itself keeps others from writing.
    own: AtomicI32,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// The files so far.
    files: u32,
    /// The files so far because of each limit.
    by_limit: [u32; Limit::COUNT],
}

#[derive(Default)]
enum Phase {
    #[default]
    Idle,
    /// A thread notes where it is.
    Noting,
    /// The file is to be written.
    Asked(Box<Exhausted>),
    /// The file is being written.
    Writing,
}

impl Exhaustions {
    pub(super) fn new(context: &Context) -> Self {
        let oom = context.options.oom;
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            heap_size: oom.and_then(|_| HeapSize::find(context.env)),
            is_watching: AtomicBool::new(false),
            own: AtomicI32::new(0),
        }
    }

    /// Returns `true` on the thread that makes a dump.
    pub(super) fn is_of_the_agent(&self) -> bool {
        self.own.load(Ordering::Relaxed) == current_tid()
    }

    /// Marks the current thread, which makes a dump, until the mark is dropped. Called with `Session::dumping` held.
    pub(super) fn of_the_agent(&self) -> OwnWork<'_> {
        self.own.store(current_tid(), Ordering::Relaxed);
        OwnWork(self)
    }

    /// Returns the number of the file to write about the limit; `None` if there are enough, or if one is being written.
    pub(super) fn begin(&self, limit: Limit, most: u32) -> Option<Noting<'_>> {
        let mut state = self.state.lock();
        // Only the heap can become full in different ways.
        let most = if limit == Limit::JavaHeap { most } else { 1 };
        let is_next = matches!(state.phase, Phase::Idle);
        if !is_next || state.by_limit[limit as usize] >= most {
            return None;
        }
        state.files += 1;
        state.by_limit[limit as usize] += 1;
        state.phase = Phase::Noting;
        Some(Noting {
            exhaustions: self,
            number: state.files,
        })
    }

    /// Returns `true` once there are as many files about a full heap as there may be.
    pub(super) fn are_enough(&self, most: u32) -> bool {
        self.state.lock().by_limit[Limit::JavaHeap as usize] >= most
    }

    pub(super) fn take(&self) -> Option<Box<Exhausted>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.phase, Phase::Writing) {
            Phase::Asked(exhausted) => Some(exhausted),
            other => {
                state.phase = other;
                None
            }
        }
    }

    fn end(&self) {
        self.state.lock().phase = Phase::Idle;
        self.changed.notify_all();
    }

    /// Waits until nothing is being written, as long as `progress` grows, and unless `is_over`.
    pub(super) fn wait(&self, progress: impl Fn() -> u64, is_over: impl Fn() -> bool) {
        let (mut last, mut since) = (progress(), Instant::now());
        let mut state = self.state.lock();
        while !matches!(state.phase, Phase::Idle) && !is_over() {
            let is_busy = |state: &mut State| !matches!(state.phase, Phase::Idle);
            self.changed
                .wait_while_for(&mut state, is_busy, POLL_INTERVAL);
            let now = progress();
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > TIMEOUT {
                return;
            }
        }
    }
}

/// Marks the thread as the program's again, when dropped.
pub(super) struct OwnWork<'a>(&'a Exhaustions);

impl Drop for OwnWork<'_> {
    fn drop(&mut self) {
        self.0.own.store(0, Ordering::Relaxed);
    }
}

/// The thread that notes where it is.
pub(super) struct Noting<'a> {
    exhaustions: &'a Exhaustions,
    pub(super) number: u32,
}

impl Noting<'_> {
    pub(super) fn ask(self, exhausted: Exhausted) {
        self.exhaustions.state.lock().phase = Phase::Asked(Box::new(exhausted));
    }
}

impl Drop for Noting<'_> {
    /// Lets the others go if nothing was noted.
    fn drop(&mut self) {
        let mut state = self.exhaustions.state.lock();
        if matches!(state.phase, Phase::Noting) {
            state.phase = Phase::Idle;
            self.exhaustions.changed.notify_all();
        }
    }
}

/// Lets the waiting threads go on, when dropped.
pub(super) struct Written<'a>(pub(super) &'a Exhaustions);

impl Drop for Written<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
