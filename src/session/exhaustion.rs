//! `oom=`: what is known when the program runs out of memory goes into a file of its own, before the program sees the
//! error.
//!
//! The VM tells it on the thread whose request it cannot meet. That thread notes where it is, and waits until the thread
//! for dumps has written the file; so does every thread that meets a limit meanwhile, because what it would do next may
//! be to throw away what the file is about. A thread waits in native code and holds no lock of the agent, and the thread
//! for dumps runs no Java code, so it needs nothing that a waiting thread holds.
//!
//! The thread for dumps makes no object in a Java heap that is full: sites are counted as of the last garbage
//! collection, and the heap is dumped with JVMTI if there is no room for what the VM's dumper needs.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use super::lifecycle::GATE;
use super::state::Session;
use crate::console;
use crate::engines::{Context, Engine, Moment, Report, Totals};
use crate::jvmti::{BoolFlag, Event, HeapFill, HeapSize, Jni, Object, Resource, current_tid};
use crate::lock_order::{Condvar, Mutex, rank};
use crate::memory;
use crate::names::Tables;
use crate::names::frame::{FrameId, Line};
use crate::names::trace::TraceId;
use crate::options::Oom;

/// The interval at which a waiting thread checks whether the file still grows.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a thread waits while the file does not grow.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The most frames of the failed request in the head of the file.
const FRAMES: usize = 32;
/// The share of the heap, as a divisor, that is in use at most if a single object was too large for it.
const HARDLY_USED: u64 = 4;

/// The limit that the program has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
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

    fn new(resource: Resource, description: &str, heap: Option<HeapFill>) -> Self {
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

/// What the program has run out of, and where.
pub struct Exhausted {
    /// The number of the file, from 1.
    pub number: u32,
    limit: Limit,
    /// The VM's word for the limit.
    description: String,
    heap: Option<HeapFill>,
    thread: String,
    /// The frames of the request, innermost first.
    stack: Vec<String>,
}

impl Exhausted {
    /// Returns what stands in the head of the file, with labels of one word.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Exhausted", self.to_string())];
        facts.extend(
            self.heap.map(|HeapFill { used, limit }| {
                ("Heap", format!("{used} of {limit} bytes in use"))
            }),
        );
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

/// What the program has run out of during a session.
pub(super) struct Exhaustions {
    state: Mutex<State, rank::Exhaustions>,
    changed: Condvar,
    heap_size: Option<HeapSize>,
    /// Set once a file can be written. An atomic, because the agent's own threads may hold any lock when they look.
    is_watching: AtomicBool,
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

    /// Marks the current thread, which makes a dump, until the mark is dropped. Called with `Session::dumping` held.
    pub(super) fn of_the_agent(&self) -> OwnWork<'_> {
        self.own.store(current_tid(), Ordering::Relaxed);
        OwnWork(self)
    }

    /// Returns the number of the file to write about the limit; `None` if there are enough, or if one is being written.
    fn begin(&self, limit: Limit, most: u32) -> Option<Noting<'_>> {
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
    fn are_enough(&self, most: u32) -> bool {
        self.state.lock().by_limit[Limit::JavaHeap as usize] >= most
    }

    fn take(&self) -> Option<Box<Exhausted>> {
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

    /// Waits until nothing is being written, as long as `progress` grows.
    fn wait(&self, progress: impl Fn() -> u64) {
        let (mut last, mut since) = (progress(), Instant::now());
        let mut state = self.state.lock();
        while !matches!(state.phase, Phase::Idle) && !GATE.has_panicked() && !memory::is_out() {
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
struct Noting<'a> {
    exhaustions: &'a Exhaustions,
    number: u32,
}

impl Noting<'_> {
    fn ask(self, exhausted: Exhausted) {
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
struct Written<'a>(&'a Exhaustions);

impl Drop for Written<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Session {
    /// From here on the VM tells when the program runs out of memory.
    pub(super) fn watch_resources(&self) {
        let env = self.context.env;
        if self.context.options.oom.is_none() || !self.owner.has_place_beside() {
            return;
        }
        self.exhaustions.is_watching.store(true, Ordering::Relaxed);
        if let Err(error) = env.enable(Event::ResourceExhausted) {
            console::line(format_args!(
                "{error}; no file will be written when memory runs out"
            ));
        }
        let flags = [
            (BoolFlag::ExitOnOutOfMemoryError, "ExitOnOutOfMemoryError"),
            (BoolFlag::CrashOnOutOfMemoryError, "CrashOnOutOfMemoryError"),
        ];
        let vm_flags = env.flags();
        let is_on = |flag| vm_flags.is_some_and(|flags| flags.is_on(flag));
        if let Some((_, name)) = flags.into_iter().find(|&(flag, _)| is_on(flag)) {
            console::line(format_args!(
                "-XX:+{name} ends the VM before oom= can write a file: they exclude each other"
            ));
        }
    }

    /// Handles that the current thread cannot get something: has a file written, and waits for it.
    pub(super) fn exhausted(&self, jni: Jni<'_>, resource: Resource, description: &CStr) {
        let exhaustions = &self.exhaustions;
        if self.context.options.oom.is_none()
            || exhaustions.own.load(Ordering::Relaxed) == current_tid()
            || !exhaustions.is_watching.load(Ordering::Relaxed)
        {
            return;
        }
        let Ok(Some(thread)) = self.context.env.current_thread(jni) else {
            return;
        };
        if self.context.agent_threads.contains(jni, thread.object()) {
            return;
        }
        let heap = exhaustions.heap_size.map(HeapSize::fill);
        let description = description.to_string_lossy().into_owned();
        let limit = Limit::new(resource, &description, heap);
        if let Some(noting) = exhaustions.begin(limit, self.context.options.oom_count) {
            let (name, stack) = self.place_of(jni, thread.object());
            let number = noting.number;
            noting.ask(Exhausted {
                number,
                limit,
                description,
                heap,
                thread: name,
                stack,
            });
            self.dump_thread.wake();
        }
        exhaustions.wait(|| self.context.journal.segments());
    }

    /// Returns the name of the current thread, and its stack.
    fn place_of(&self, jni: Jni<'_>, thread: Object<'_>) -> (String, Vec<String>) {
        let info = self.context.env.thread_info(jni, thread);
        let name = info.map(|info| info.name).unwrap_or_default();
        let trace = match self.threads.current_serial(jni, thread) {
            Some(serial) => self.context.stacks.whole_stack(jni, serial, thread).trace,
            None => TraceId::EMPTY,
        };
        let tables = &self.context.tables;
        let frames = tables.traces.get(trace).frames.into_iter();
        let stack = frames.take(FRAMES).map(|frame| in_words(tables, frame));
        (name, stack.collect())
    }

    /// Writes the file that a thread of the program waits for, if there is one. Called on the thread for dumps.
    pub(super) fn report_exhaustion(&self, jni: Jni<'_>) {
        let Some(exhausted) = self.exhaustions.take() else {
            return;
        };
        let _written = Written(&self.exhaustions);
        let _dumping = self.dumping.lock();
        self.write_exhausted(jni, &exhausted);
        if self.exhaustions.are_enough(self.context.options.oom_count) {
            // Every further event would be of no use, and HotSpot prints a line for each.
            let _ = self.context.env.disable(Event::ResourceExhausted);
        }
    }

    fn write_exhausted(&self, jni: Jni<'_>, exhausted: &Exhausted) {
        let Some((path, writer)) = self.owner.open_beside(exhausted) else {
            return;
        };
        let dumps = self.engines.heap_dump.as_deref().filter(|_| {
            self.context.options.oom == Some(Oom::Dump) && exhausted.limit == Limit::JavaHeap
        });
        let journal = self.context.journal.beside(writer, dumps.is_some());
        let report = Report {
            journal: &journal,
            ..self.report(Moment::Exhausted, Totals::Keep)
        };
        if let Some(tracker) = &self.engines.allocations {
            tracker.report(jni, &report);
        }
        journal.sync();
        let how = dumps.and_then(|dumps| dumps.dump_binary(jni, &report));
        if let Some(how) = &how {
            journal.entry(|entry| entry.note(&format!("heap dump {how}")));
        }
        journal.ended(&self.last_note());
        journal.sync();
        let is_whole = journal.close();
        let content = match how {
            Some(_) => "the allocation sites and the heap are",
            None => "the allocation sites are",
        };
        if is_whole {
            let path = path.display();
            console::line(format_args!(
                "out of memory ({exhausted}) in thread {:?}: {content} in {path}",
                exhausted.thread
            ));
        }
    }
}

/// Returns a frame as the VM prints it in a stack trace.
fn in_words(tables: &Tables, frame: FrameId) -> String {
    let frame = tables.frames.get(frame);
    let string = |id| tables.strings.get(id);
    let class = string(tables.classes.get(frame.method.class).name);
    let method = string(frame.method.name);
    let file = frame.method.source_file.map(string);
    let place = match (file, frame.line) {
        (_, Line::Native) => "Native Method".to_owned(),
        (Some(file), Line::Number(line)) => format!("{file}:{line}"),
        (Some(file), Line::Unknown) => file.to_owned(),
        (None, _) => "Unknown Source".to_owned(),
    };
    format!("{class}.{method}({place})")
}
