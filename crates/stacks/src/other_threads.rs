//! Stacks of other threads, which may have moved on since: nothing but a reference of the agent's own keeps the classes of
//! their methods while the VM is asked for names.

use super::Stacks;
use jvmti::{ClassesSeen, Event, FrameClasses, FrameInfo, Jni, LocalRef, MethodId, Object};
use memory::{List, OrStop};
use names::frame::FrameId;
use names::thread::ThreadSerial;
use names::trace::{TraceId, TraceKey};

/// The name, in place of a method, of one whose class went before it was named.
const UNLOADED_CLASS: &str = "<unloaded-class>";

/// A thread's complete stack at some moment, regardless of `depth=`.
pub struct WholeStack {
    /// The trace of the stack.
    pub trace: TraceId,
    /// The frames of the trace, innermost first.
    pub frames: List<FrameInfo>,
}

impl WholeStack {
    /// The stack of a thread without frames.
    pub const EMPTY: Self = Self {
        trace: TraceId::EMPTY,
        frames: List::new(),
    };

    /// The most frames; a deeper stack loses its outermost ones.
    pub const MOST: usize = 1_024;
}

/// The methods in a stack of another thread that the VM may be asked about.
enum Held<'a> {
    /// All: the VM does not report its classes.
    Any,
    /// These, with what keeps their classes.
    Methods(List<(MethodId, LocalRef<'a>)>),
}

impl Held<'_> {
    fn has(&self, method: MethodId) -> bool {
        match self {
            Held::Any => true,
            Held::Methods(held) => held.iter().any(|&(held, _)| held == method),
        }
    }
}

impl Stacks {
    /// Watches the classes that are loaded from now on, if it does not yet; `None` in a VM that does not tell them.
    pub fn watch_classes(&self, jni: Jni<'_>) -> Option<&FrameClasses> {
        let watch = || {
            self.env.enable(Event::ClassPrepare).ok()?;
            FrameClasses::begin(self.env, jni).ok()?
        };
        self.classes.get_or_init(watch).as_ref()
    }

    /// Returns the classes of methods in stacks of other threads, if they are known.
    pub fn watched_classes(&self) -> Option<&FrameClasses> {
        self.classes.get()?.as_ref()
    }

    /// Returns what must be known before the stack of another thread is taken.
    pub fn classes_seen(&self, jni: Jni<'_>) -> ClassesSeen {
        self.watch_classes(jni);
        self.classes_seen_if_watched(jni)
    }

    /// As [`Stacks::classes_seen`], for stacks that are taken once: if classes are not watched, the caller keeps all that are
    /// loaded.
    pub fn classes_seen_if_watched(&self, jni: Jni<'_>) -> ClassesSeen {
        let classes = self.watched_classes();
        classes.map_or(ClassesSeen::NONE, |classes| classes.seen(jni))
    }

    /// Returns the trace of a stack that `thread` had a moment ago, after these classes were seen.
    pub fn trace(
        &self,
        jni: Jni<'_>,
        thread: ThreadSerial,
        frames: &[FrameInfo],
        seen: ClassesSeen,
    ) -> TraceId {
        self.trace_below(jni, thread, &[], frames, seen)
    }

    /// As [`Stacks::trace`], below a frame of that name for what is not Java's.
    pub fn trace_below(
        &self,
        jni: Jni<'_>,
        thread: ThreadSerial,
        innermost: &[&str],
        frames: &[FrameInfo],
        seen: ClassesSeen,
    ) -> TraceId {
        let innermost = innermost.iter().map(|name| self.stand_in(name));
        let mut ids = List::collect(innermost).or_stop();
        ids.extend(self.frame_ids(jni, frames, seen)).or_stop();
        self.intern_trace(thread, &ids)
    }

    /// Returns the frame in place of one whose class went before it was named.
    pub(super) fn unloaded_frame(&self) -> FrameId {
        self.stand_in(UNLOADED_CLASS)
    }

    /// Takes the complete stack of a thread. Its trace is kept apart from those of other threads regardless of
    /// `thread=`, because readers of heap dumps find a thread's stack by the thread that its trace names. If classes are not
    /// watched, the caller keeps those that are loaded.
    pub fn whole_stack(
        &self,
        jni: Jni<'_>,
        thread: ThreadSerial,
        object: Object<'_>,
    ) -> WholeStack {
        let seen = self.classes_seen_if_watched(jni);
        let mut frames = List::new();
        frames
            .resize(WholeStack::MOST, FrameInfo::default())
            .or_stop();
        // A thread that is ending has no stack.
        let count = self.env.stack_trace(Some(object), &mut frames).unwrap_or(0);
        if count == 0 {
            return WholeStack::EMPTY;
        }
        frames.truncate(count);
        frames.shrink_to_fit();
        let ids = self.frame_ids(jni, &frames, seen);
        let trace = self.tables.traces.intern(TraceKey {
            thread: Some(thread),
            frames: &ids,
        });
        WholeStack { trace, frames }
    }

    /// Ends the watch.
    pub fn stop_watching(&self) {
        FrameClasses::end();
    }

    /// Returns the tables' frames for frames that another thread had after these classes were seen.
    fn frame_ids(&self, jni: Jni<'_>, frames: &[FrameInfo], seen: ClassesSeen) -> List<FrameId> {
        let named = self.named(frames.iter().copied());
        let frames = || frames.iter().zip(&named);
        let unnamed = frames().filter(|(_, named)| named.is_none());
        let held = self.hold(jni, unnamed.map(|(frame, _)| frame.method), seen);
        let ids = frames().map(|(&frame, named)| match named {
            &Some(id) => id,
            None if held.has(frame.method) => self.name_frame(jni, frame),
            None => self.unloaded_frame(),
        });
        List::collect(ids).or_stop()
    }

    /// Keeps the classes of the methods of the frames that have no name yet.
    fn hold<'a>(
        &self,
        jni: Jni<'a>,
        unnamed: impl Iterator<Item = MethodId>,
        seen: ClassesSeen,
    ) -> Held<'a> {
        let Some(classes) = self.watched_classes() else {
            return Held::Any;
        };
        let unnamed = List::collect(unnamed).or_stop();
        if unnamed.is_empty() {
            return Held::Methods(List::new());
        }
        jni.announce_locals(unnamed.len());
        let held = unnamed.into_iter();
        let held = held.filter_map(|method| Some((method, classes.hold(jni, method, seen)?)));
        Held::Methods(List::collect(held).or_stop())
    }
}
