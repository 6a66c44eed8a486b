//! `oom=`: what is known when the program runs out of memory goes into a file of its own, before the program sees the
//! error.
//!
//! The VM reports it on the thread whose request it cannot meet. That thread notes where it is, and waits until the thread
//! for dumps has written the file; so does every thread that meets a limit meanwhile, because what it would do next may
//! be to throw away what the file is about. A thread waits in native code and holds no lock of the agent, and the thread
//! for dumps runs no Java code, so it needs nothing that a waiting thread holds.
//!
//! The memory that the file takes outside the Java heap was set aside before; the allocator lends it until the file is
//! written.
//!
//! The thread for dumps makes no object in a Java heap that is full: sites are counted as of the last garbage
//! collection, and the heap is dumped with JVMTI if there is no room for what the VM's dumper needs.

use std::ffi::CStr;
use std::sync::atomic::Ordering;

use super::exhaustion::{Exhausted, Limit, Written};
use super::footprint::MemoryLook;
use super::lifecycle::GATE;
use super::state::Session;
use crate::engines::{Moment, Report, Reporter, Totals};
use crate::os;
use jvmti::{BoolFlag, CurrentThread, Event, HeapSize, Jni, Resource};
use names::Tables;
use names::frame::{FrameId, Line};
use names::trace::TraceId;
use options::Oom;
use output::console;

/// The most frames of the failed request in the head of the file.
const FRAMES: usize = 32;
/// The memory that is set aside for a dump, for each byte of the Java heap: a dump by JVMTI takes up to 76 bytes for each
/// object outside the heap, and few heaps have objects of fewer than 26 bytes on average.
const SET_ASIDE_SHARE: u64 = 3;
/// The most memory that is set aside for a dump.
const MOST_SET_ASIDE: u64 = 256 << 20;

impl Session {
    /// From here on the VM reports when the program runs out of memory.
    pub(super) fn watch_resources(&self) {
        let env = self.context.env;
        if self.context.options.oom.is_none() || !self.owner.has_place_for_exhausted() {
            return;
        }
        self.exhaustions.is_watching.store(true, Ordering::Relaxed);
        if self.context.options.oom == Some(Oom::Dump) {
            let heap = self.exhaustions.heap_size.map(HeapSize::fill);
            let walk = heap.map_or(MOST_SET_ASIDE, |heap| SET_ASIDE_SHARE * heap.limit);
            let bytes = usize::try_from(walk.min(MOST_SET_ASIDE));
            memory::set_more_aside(bytes.unwrap_or(0));
        }
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
            || exhaustions.is_of_the_agent()
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
            memory::lend_reserve();
            let (name, stack) = self.place_of(jni, thread.thread());
            let number = noting.number;
            noting.ask(Exhausted {
                number,
                limit,
                description,
                heap,
                thread: name,
                stack,
                memory: String::new(),
            });
            self.dumps.thread.wake();
        }
        let is_over = || GATE.has_panicked() || memory::is_out();
        exhaustions.wait(|| self.context.journal.segments(), is_over);
    }

    /// Returns the name of the current thread, and its stack.
    fn place_of(&self, jni: Jni<'_>, thread: CurrentThread<'_>) -> (String, Vec<String>) {
        let info = self.context.env.thread_info(jni, *thread);
        let name = info.map(|info| info.name).unwrap_or_default();
        let trace = match self.threads.current_serial(jni, thread) {
            Some(serial) => self.context.stacks.whole_stack(jni, serial, *thread).trace,
            None => TraceId::EMPTY,
        };
        let tables = &self.context.tables;
        let frames = tables.traces.get(trace).frames.into_iter();
        let stack = frames.take(FRAMES).map(|frame| in_words(tables, frame));
        (name, stack.collect())
    }

    /// Writes the file that a thread of the program waits for, if there is one. Called on the thread for dumps.
    pub(super) fn report_exhaustion(&self, jni: Jni<'_>) {
        let Some(mut exhausted) = self.exhaustions.take() else {
            return;
        };
        let _written = Written(&self.exhaustions);
        if os::TELLS_OF_MEMORY {
            let mut look = MemoryLook::new(self.context.env);
            exhausted.memory = look.look_without_java().in_a_line();
        }
        let _dumping = self.dumps.lock();
        self.write_exhausted(jni, &exhausted);
        memory::restore_reserve();
        if self.exhaustions.are_enough(self.context.options.oom_count) {
            // Every further event would be of no use, and HotSpot prints a line for each.
            let _ = self.context.env.disable(Event::ResourceExhausted);
        }
    }

    fn write_exhausted(&self, jni: Jni<'_>, exhausted: &Exhausted) {
        let Some((path, writer)) = self.owner.open_exhausted(exhausted) else {
            return;
        };
        let dumps = self.engines.heap_dump.as_deref().filter(|_| {
            self.context.options.oom == Some(Oom::Dump) && exhausted.limit == Limit::JavaHeap
        });
        let journal = self.context.journal.companion(writer, dumps.is_some());
        let report = Report {
            journal: &journal,
            ..self.report(Moment::Exhausted, Totals::Keep)
        };
        if let Some(tracker) = &self.engines.allocations {
            tracker.report(jni, &report);
        }
        journal.sync();
        let how = dumps.and_then(|dumps| dumps.dump_binary(jni, &report));
        journal.ended(&[&self.last_note()]);
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
