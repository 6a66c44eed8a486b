//! Turns stacks as the VM gives them into traces of the tables; hot paths take stacks by `top_frames`.
//!
//! Every frame is resolved when it is first seen, because a method's id dies with its class; the tables' entry stays.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
// What grows asks for its memory, which tests need not: see `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_types))]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod buffer;
mod named_frames;
mod other_threads;
mod top_frames;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jvmti::{
    Env, Found, FoundMethod, FrameClasses, FrameInfo, Jni, JvmtiError, KnownObjects, LocalRef,
    MethodId, NativeFunction, Object, SampledFrame, WeakRef,
};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::Tables;
use names::class::{ClassId, Interned, name_of_signature};
use names::frame::{self, FrameId, Line};
use names::loader::LoaderId;
use names::thread::ThreadSerial;
use names::trace::{OuterPart, TraceId, TraceKey};

pub use buffer::StackBuffer;
pub use other_threads::WholeStack;
pub use top_frames::{FramesMark, StackKey, StackMethod, StackTop, TopFrames, TopFramesTally};

/// The parts of a stack that a trace keeps.
#[derive(Clone, Copy)]
pub struct TraceShape {
    /// The initial limit on frames, `depth=`.
    pub depth: usize,
    /// `true` if frames have line numbers, `lineno=`.
    pub line_numbers: bool,
    /// `true` if traces are kept apart by thread, `thread=`.
    pub threads: bool,
}

/// Names frames, and knows the classes it has named.
pub struct Stacks {
    env: Env,
    tables: Arc<Tables>,
    shape: TraceShape,
    depth: AtomicUsize,
    stand_in_class: ClassId,
    unsampled: FrameId,
    /// The loader in whose name libraries are classes.
    native_loader: OnceLock<LoaderId>,
    class_unloaded: Box<dyn Fn(ClassId) + Send + Sync>,
    /// What keeps the classes of other threads' methods while the VM is asked about them, once stacks of other threads are
    /// taken; `None` in a VM that does not report its classes.
    classes: OnceLock<Option<FrameClasses>>,
    /// The VM is asked for what is not there without the lock. Several threads may ask for the same at once; they enter the
    /// same.
    names: Mutex<Names, rank::StackNames>,
    loaders: KnownObjects<LoaderId, rank::KnownLoaders>,
}

#[derive(Default)]
struct Names {
    frames: Map<FrameInfo, FrameId>,
    methods: Map<MethodId, frame::Method>,
    /// Classes that have been named and not unloaded since.
    classes: Map<ClassId, Arc<WeakRef>>,
}

/// The frame that stands for CPU time whose stack was not seen: of a thread that ended before the next sample, or one
/// that runs no Java.
const UNSAMPLED: &str = "<unsampled>";

/// The outermost frame of a row in which small rows were added up: it stands for their different callers.
const FOLDED: &str = "<folded>";

/// The name, in place of a function, of code of a library that is gone.
const UNLOADED: &str = "<unloaded-library>";
/// The name, in place of methods, of the outer frames of a virtual thread that are not on its carrier's stack.
const IN_HEAP: &str = "<frames-in-heap>";
/// The name, in place of methods, of the outer frames of a stack that took too long to walk.
const CUT: &str = "<frames-cut>";

/// The class of frames that stand for something other than Java. They look like real frames, because readers of the
/// text format fail on a row of CPU SAMPLES whose trace has no frames.
const STAND_IN_CLASS: &str = "java.lang.Thread";

impl Stacks {
    /// Creates an instance that has named nothing yet. `class_unloaded` is called for each named class that is
    /// unloaded.
    pub fn new(
        env: Env,
        tables: Arc<Tables>,
        shape: TraceShape,
        class_unloaded: Box<dyn Fn(ClassId) + Send + Sync>,
    ) -> Self {
        let class = tables
            .classes
            .intern(
                tables.loaders.add(),
                tables.strings.intern(STAND_IN_CLASS),
                || tables.objects.add(),
            )
            .id();
        let unsampled = stand_in(&tables, class, UNSAMPLED);
        Self {
            env,
            tables,
            shape,
            depth: AtomicUsize::new(shape.depth),
            stand_in_class: class,
            unsampled,
            native_loader: OnceLock::new(),
            class_unloaded,
            classes: OnceLock::new(),
            names: Mutex::default(),
            loaders: KnownObjects::new(env),
        }
    }

    /// Returns the most frames to take of a stack. May change at any time.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Sets the most frames to take from now on.
    pub fn set_depth(&self, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// Returns the parts of a stack that a trace keeps; `depth` is the initial one.
    pub fn shape(&self) -> TraceShape {
        self.shape
    }

    /// Returns `true` if traces are kept apart by thread.
    pub fn by_thread(&self) -> bool {
        self.shape.threads
    }

    /// Returns `true` if frames have line numbers.
    pub fn line_numbers(&self) -> bool {
        self.shape.line_numbers
    }

    /// Returns the trace of a stack of the current thread.
    fn own_trace(&self, jni: Jni<'_>, thread: ThreadSerial, frames: &[FrameInfo]) -> TraceId {
        let ids = self.own_frame_ids(jni, frames);
        self.intern_trace(thread, &ids)
    }

    /// Returns the frame, of that name, for what is not Java's.
    pub fn stand_in(&self, name: &str) -> FrameId {
        stand_in(&self.tables, self.stand_in_class, name)
    }

    /// Returns the tables' frames for frames of the current thread, which keeps their classes.
    fn own_frame_ids(&self, jni: Jni<'_>, frames: &[FrameInfo]) -> List<FrameId> {
        let named = self.named(frames.iter().copied());
        let frames = frames.iter().zip(named);
        let ids =
            frames.map(|(&frame, named)| named.unwrap_or_else(|| self.name_frame(jni, frame)));
        List::collect(ids).or_stop()
    }

    /// Returns the tables' frames for those of these that have been seen before.
    fn named(&self, frames: impl Iterator<Item = FrameInfo>) -> List<Option<FrameId>> {
        let names = self.names.lock();
        List::collect(frames.map(|frame| names.frames.get(&frame).copied())).or_stop()
    }

    /// Returns the trace of a stack whose frames are named, outermost first.
    fn trace_onto(
        &self,
        outer: &mut OuterPart,
        thread: ThreadSerial,
        frames: &[FrameId],
    ) -> TraceId {
        let thread = self.shape.threads.then_some(thread);
        self.tables.traces.intern_onto(outer, thread, frames)
    }

    /// Returns the methods of frames of the current thread.
    pub fn methods(
        &self,
        jni: Jni<'_>,
        frames: &[FrameInfo],
    ) -> Result<List<frame::Method>, JvmtiError> {
        let mut methods = List::new();
        for frame in frames {
            methods.push(self.method(jni, frame.method)?).or_stop();
        }
        Ok(methods)
    }

    /// Returns the trace for CPU time whose stack was not seen; `reason`, such as `in a stub`, is its outer frame.
    pub fn unsampled_trace(&self, thread: ThreadSerial, reason: &str) -> TraceId {
        let reason = stand_in(&self.tables, self.stand_in_class, &format!("<{reason}>"));
        let frames = [self.unsampled, reason];
        self.intern_trace(thread, &frames[..self.depth().clamp(1, frames.len())])
    }

    /// Returns the outermost frame of rows in which small rows were added up.
    pub fn folded_frame(&self) -> FrameId {
        stand_in(&self.tables, self.stand_in_class, FOLDED)
    }

    /// Returns the trace for CPU time that is not Java's: `name`, in angle brackets, says whose it is.
    pub fn stand_in_trace(&self, name: &str) -> TraceId {
        let frame = stand_in(&self.tables, self.stand_in_class, name);
        self.tables.traces.intern(TraceKey {
            thread: None,
            frames: &[frame],
        })
    }

    /// Returns the tables' frames for those of the sample of that number; `function` names native code. `None` if the VM, which
    /// must not be asked without `jni`, has not named a method before that it gave an id for.
    pub fn sampled_frames(
        &self,
        jni: Option<Jni<'_>>,
        sample: u64,
        frames: &[SampledFrame],
        function: impl Fn(usize) -> Option<FrameId>,
    ) -> Option<List<FrameId>> {
        let mut ids = List::new();
        for &frame in frames {
            let id = match frame {
                SampledFrame::Java { method, location } => {
                    let frame = |method| FrameInfo { method, location };
                    let known = |method| self.seen_frame(frame(method));
                    let classes = self.watched_classes();
                    let found = classes.and_then(|it| it.method(jni, (method, sample), known));
                    match (found, jni) {
                        (Some(FoundMethod::Known(id)), _) => id,
                        (Some(FoundMethod::Held(method, _class)), Some(jni)) => {
                            self.name_frame(jni, frame(method))
                        }
                        _ => self.unloaded_frame(),
                    }
                }
                SampledFrame::Known(frame) => match jni {
                    Some(jni) => self.name_frame(jni, frame),
                    None => self.seen_frame(frame)?,
                },
                SampledFrame::InHeap => self.stand_in(IN_HEAP),
                SampledFrame::Cut => self.stand_in(CUT),
                // Without a function, it is of a library that has been unloaded since.
                SampledFrame::Native(instruction) => {
                    function(instruction).unwrap_or_else(|| self.stand_in(UNLOADED))
                }
            };
            ids.push(id).or_stop();
        }
        Some(ids)
    }

    /// Returns the frame of a function of native code. Its class is the library.
    pub fn native_frame(&self, function: &NativeFunction) -> FrameId {
        let tables = &self.tables;
        let loader = *self.native_loader.get_or_init(|| tables.loaders.add());
        let library = tables.strings.intern(&function.library);
        let class = tables
            .classes
            .intern(loader, library, || tables.objects.add());
        let method = frame::Method {
            class: class.id(),
            name: tables.strings.intern(&function.name),
            signature: tables.strings.intern("()V"),
            source_file: None,
        };
        tables.frames.intern(frame::Frame {
            method,
            line: Line::Native,
        })
    }

    /// Returns the id of a class.
    pub fn class(&self, jni: Jni<'_>, class: Object<'_>) -> Result<ClassId, JvmtiError> {
        self.name_class(jni, class)
    }

    /// Returns the id of a class, and a reference by which it can be recognized; `None` if the VM is out of memory.
    pub fn class_and_reference(
        &self,
        jni: Jni<'_>,
        class: Object<'_>,
    ) -> Result<(ClassId, Option<Arc<WeakRef>>), JvmtiError> {
        let id = self.name_class(jni, class)?;
        Ok((id, self.names.lock().classes.get(&id).cloned()))
    }

    /// Returns the class to use for items whose class can no longer be named.
    pub fn unknown_class(&self) -> ClassId {
        let name = self.tables.strings.intern("<unknown>");
        let object = || self.tables.objects.add();
        self.tables
            .classes
            .intern(LoaderId::BOOT, name, object)
            .id()
    }

    /// Forgets classes that were unloaded.
    pub fn sweep(&self, jni: Jni<'_>) {
        for class in self.forget_unloaded(jni) {
            (self.class_unloaded)(class);
        }
        if let Some(classes) = self.watched_classes() {
            classes.sweep(jni);
        }
    }

    fn forget_unloaded(&self, jni: Jni<'_>) -> List<ClassId> {
        self.loaders.sweep_if_grown(jni);
        let all = {
            let names = self.names.lock();
            let all = names.classes.iter();
            List::collect(all.map(|(&id, class)| (id, class.clone()))).or_stop()
        };
        let mut gone = all;
        gone.retain(|(_, class)| class.is_dead(jni));
        if gone.is_empty() {
            return List::new();
        }
        let mut names = self.names.lock();
        // Another thread may have forgotten it already, and the id may be that of a new class since.
        gone.retain(|(id, class)| {
            let known = names.classes.get(id);
            known.is_some_and(|known| Arc::ptr_eq(known, class))
        });
        for (class, _) in &gone {
            // `gone` frees the reference, after the lock.
            names.classes.remove(class);
            self.tables.classes.unload(*class);
        }
        let Names {
            frames, methods, ..
        } = &mut *names;
        methods.retain(|_, method| !self.tables.classes.get(method.class).is_unloaded());
        frames.retain(|frame, _| methods.contains_key(&frame.method));
        drop(names);
        List::collect(gone.into_iter().map(|(class, _)| class)).or_stop()
    }

    /// Returns the trace of a stack whose frames are named, innermost first.
    pub fn intern_trace(&self, thread: ThreadSerial, frames: &[FrameId]) -> TraceId {
        self.tables.traces.intern(TraceKey {
            thread: self.shape.threads.then_some(thread),
            frames,
        })
    }

    fn seen_frame(&self, frame: FrameInfo) -> Option<FrameId> {
        self.names.lock().frames.get(&frame).copied()
    }

    /// Asks the VM about a frame, unless it has been seen since. Its class is kept.
    fn name_frame(&self, jni: Jni<'_>, frame: FrameInfo) -> FrameId {
        // A recursion has the same frame many times.
        if let Some(id) = self.seen_frame(frame) {
            return id;
        }
        // A class that was unloaded since the stack was taken can no longer be asked about.
        let Ok((method, line)) = self.resolve(jni, frame) else {
            return self.unsampled;
        };
        let id = self.tables.frames.intern(frame::Frame { method, line });
        let mut names = self.names.lock();
        names.frames.insert(frame, id).or_stop();
        id
    }

    fn resolve(&self, jni: Jni<'_>, frame: FrameInfo) -> Result<(frame::Method, Line), JvmtiError> {
        let method = self.method(jni, frame.method)?;
        Ok((method, self.line(frame)?))
    }

    fn line(&self, frame: FrameInfo) -> Result<Line, JvmtiError> {
        if !self.shape.line_numbers {
            return Ok(Line::Unknown);
        }
        if frame.location < 0 {
            return Ok(Line::Native);
        }
        Ok(self
            .env
            .line(frame.method, frame.location)?
            .map_or(Line::Unknown, Line::Number))
    }

    fn method(&self, jni: Jni<'_>, method: MethodId) -> Result<frame::Method, JvmtiError> {
        let known = self.names.lock().methods.get(&method).copied();
        if let Some(named) = known {
            return Ok(named);
        }
        let named = self.name_method(jni, method)?;
        let mut names = self.names.lock();
        names.methods.insert(method, named).or_stop();
        Ok(named)
    }

    fn name_method(&self, jni: Jni<'_>, method: MethodId) -> Result<frame::Method, JvmtiError> {
        let strings = &self.tables.strings;
        let name = self.env.method_name(method)?;
        // The VM returns a class or an error.
        let class = self
            .env
            .method_class(jni, method)?
            .expect("a method has a class");
        let source_file = self.env.source_file(class.object())?;
        Ok(frame::Method {
            class: self.name_class(jni, class.object())?,
            name: strings.intern(&name.name),
            signature: strings.intern(&name.signature),
            source_file: source_file.map(|file| strings.intern(&file)),
        })
    }

    fn name_class(&self, jni: Jni<'_>, class: Object<'_>) -> Result<ClassId, JvmtiError> {
        let name = name_of_signature(&self.env.class_signature(class)?);
        let name = self.tables.strings.intern(&name);
        let loader = self.loader(jni, class)?;
        let interned = self
            .tables
            .classes
            .intern(loader, name, || self.tables.objects.add());
        // A class that was named from its class file is known, but not watched yet.
        let id = interned.id();
        let is_watched = self.names.lock().classes.contains_key(&id);
        if (matches!(interned, Interned::New(_)) || !is_watched)
            && let Some(reference) = WeakRef::new(jni, class)
        {
            self.watch(id, Arc::new(reference));
        }
        Ok(id)
    }

    /// Watches whether a class is unloaded, if no other thread has begun to.
    fn watch(&self, id: ClassId, class: Arc<WeakRef>) {
        let mut names = self.names.lock();
        let watched = names.classes.get_or_insert_with(id, || class.clone());
        watched.or_stop();
        // One that is not needed is freed after the lock.
        drop(names);
        drop(class);
    }

    /// Returns the id of the class of that name which the loader (`None` for the boot loader) is about to define.
    pub fn class_named(
        &self,
        jni: Jni<'_>,
        loader: Option<Object<'_>>,
        name: &str,
    ) -> Result<ClassId, JvmtiError> {
        let loader = self.loader_id(jni, loader)?;
        let name = self.tables.strings.intern(name);
        let object = || self.tables.objects.add();
        Ok(self.tables.classes.intern(loader, name, object).id())
    }

    fn loader(&self, jni: Jni<'_>, class: Object<'_>) -> Result<LoaderId, JvmtiError> {
        let loader = self.env.class_loader(jni, class)?;
        self.loader_id(jni, loader.as_ref().map(LocalRef::object))
    }

    fn loader_id(&self, jni: Jni<'_>, loader: Option<Object<'_>>) -> Result<LoaderId, JvmtiError> {
        let Some(loader) = loader else {
            return Ok(LoaderId::BOOT);
        };
        loop {
            let unknown = match self.loaders.find(jni, loader)? {
                Found::Known(known) => return Ok(known.value),
                Found::Unknown(unknown) => unknown,
            };
            let id = self.tables.loaders.add();
            // If the VM has no memory for a reference, the loader gets another id the next time.
            let Some(reference) = WeakRef::new(jni, loader) else {
                return Ok(id);
            };
            if self.loaders.add(&unknown, reference, id).is_ok() {
                return Ok(id);
            }
        }
    }
}

/// Creates a frame of that name, which stands for something other than Java.
fn stand_in(tables: &Tables, class: ClassId, name: &str) -> FrameId {
    let strings = &tables.strings;
    let method = frame::Method {
        class,
        name: strings.intern(name),
        signature: strings.intern("()V"),
        source_file: Some(strings.intern("Thread.java")),
    };
    tables.frames.intern(frame::Frame {
        method,
        line: Line::Unknown,
    })
}
