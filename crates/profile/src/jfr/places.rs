//! Stacks, threads and classes of a recording, as those of a profile.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hprof_format::source_name;
use hprof_jfr::{Chunk, Constant, ReadError, Struct, Value};

use super::MARKER_CLASS;
use crate::model::{Frame, FrameId, FrameKind, Profile, StackId};
use crate::names::Name;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The names and stacks of all chunks so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) profile: Profile,
    stacks: Map<Box<[FrameId]>, StackId>,
    /// The stacks with one frame more.
    under: Map<(StackId, &'static str), StackId>,
    /// For each stack, its length if frames are missing.
    pub(super) cut: Vec<Option<u32>>,
}

/// The constants of one chunk that have been looked up.
pub(super) struct Places<'a> {
    chunk: &'a Chunk,
    pub(super) known: &'a mut Known,
    stacks: Map<Constant, StackId>,
    methods: Map<Constant, RecordedMethod>,
    classes: Map<Constant, Option<Name>>,
    threads: Map<Constant, Option<Name>>,
    kinds: Map<Constant, FrameKind>,
    /// Few bytes can name a long text any number of times.
    texts: Map<Constant, Option<Name>>,
}

#[derive(Clone, Copy)]
struct RecordedMethod {
    class: Name,
    name: Name,
    signature: Option<Name>,
}

impl Known {
    /// Returns the stack of these frames, innermost first, adding it if it is new.
    pub(super) fn stack(&mut self, frames: &[FrameId], is_cut: bool) -> StackId {
        if let Some(&stack) = self.stacks.get(frames) {
            if !is_cut {
                self.cut[stack.0 as usize] = None;
            }
            return stack;
        }
        let stack = self.profile.stacks.push(frames.iter().copied());
        self.stacks.insert(frames.into(), stack);
        let length = u32::try_from(frames.len()).unwrap_or(u32::MAX);
        self.cut.push(is_cut.then_some(length));
        stack
    }

    /// Returns the same stack with one frame more at its innermost end, a stand-in of a method of `Thread`.
    pub(super) fn under(&mut self, stack: StackId, stand_in: &'static str) -> StackId {
        if let Some(&found) = self.under.get(&(stack, stand_in)) {
            return found;
        }
        let frame = self.profile.stand_in(stand_in);
        let outer = self.profile.stacks.frames(stack).iter().copied();
        let frames: Vec<FrameId> = std::iter::once(frame).chain(outer).collect();
        let is_cut = self.cut[stack.0 as usize].is_some();
        let found = self.stack(&frames, is_cut);
        self.under.insert((stack, stand_in), found);
        found
    }
}

impl<'a> Places<'a> {
    pub(super) fn new(chunk: &'a Chunk, known: &'a mut Known) -> Places<'a> {
        Places {
            chunk,
            known,
            stacks: Map::default(),
            methods: Map::default(),
            classes: Map::default(),
            threads: Map::default(),
            kinds: Map::default(),
            texts: Map::default(),
        }
    }

    /// Returns the stack of an event; one without frames if it has none.
    pub(super) fn stack(&mut self, event: Struct<'_>) -> Result<StackId, ReadError> {
        let stack = self.stack_in(event, "stackTrace")?;
        Ok(stack.unwrap_or_else(|| self.known.stack(&[], false)))
    }

    /// Returns the stack in a field of an event.
    pub(super) fn stack_in(
        &mut self,
        event: Struct<'_>,
        field: &str,
    ) -> Result<Option<StackId>, ReadError> {
        let Value::Constant(key) = event.raw(field)? else {
            return Ok(None);
        };
        if let Some(&stack) = self.stacks.get(&key) {
            return Ok(Some(stack));
        }
        let Value::Struct(trace) = self.chunk.constant(key)? else {
            return Ok(None);
        };
        let stack = self.trace(trace)?;
        self.stacks.insert(key, stack);
        Ok(Some(stack))
    }

    fn trace(&mut self, trace: Struct<'a>) -> Result<StackId, ReadError> {
        let is_cut = matches!(trace.get("truncated")?, Value::Boolean(true));
        let mut frames = Vec::new();
        if let Value::Array(all) = trace.get("frames")? {
            for frame in all {
                if let Value::Struct(frame) = frame? {
                    frames.push(self.frame(frame)?);
                }
            }
        }
        Ok(self.known.stack(&frames, is_cut))
    }

    fn frame(&mut self, frame: Struct<'a>) -> Result<FrameId, ReadError> {
        let Value::Constant(key) = frame.raw("method")? else {
            return Ok(self.unknown());
        };
        let method = match self.methods.get(&key) {
            Some(&method) => method,
            None => {
                let Value::Struct(method) = self.chunk.constant(key)? else {
                    return Ok(self.unknown());
                };
                let method = self.method(method)?;
                self.methods.insert(key, method);
                method
            }
        };
        let line = match frame.get("lineNumber")? {
            Value::Integer(line) => u32::try_from(line).ok().filter(|&line| line > 0),
            _ => None,
        };
        let kind = self.kind(frame)?;
        let text = |name| self.known.profile.names.text(name);
        let kind = match (kind, text(method.class)) {
            (_, "" | MARKER_CLASS) => FrameKind::Marker,
            // Elsewhere it says how a frame ran whose line is known.
            (FrameKind::Compiled, _) if line.is_some() => FrameKind::Java,
            (kind, _) => kind,
        };
        let class = match kind {
            FrameKind::Marker => self.known.profile.names.intern(""),
            _ => method.class,
        };
        let frame = Frame {
            class,
            method: method.name,
            signature: method.signature.filter(|_| kind != FrameKind::Marker),
            source: None,
            line,
            kind,
        };
        Ok(self.known.profile.intern_frame(frame))
    }

    fn unknown(&mut self) -> FrameId {
        self.known.profile.marker(hprof_format::UNKNOWN_NAME)
    }

    fn kind(&mut self, frame: Struct<'a>) -> Result<FrameKind, ReadError> {
        let Value::Constant(key) = frame.raw("type")? else {
            return Ok(FrameKind::Java);
        };
        if let Some(&kind) = self.kinds.get(&key) {
            return Ok(kind);
        }
        let description = self.name(frame, "type")?;
        let description = description.map(|name| self.known.profile.names.text(name));
        let kind = match description {
            // The last two are async-profiler's.
            Some("Native" | "C++" | "Kernel") => FrameKind::Native,
            Some("JIT compiled") => FrameKind::Compiled,
            _ => FrameKind::Java,
        };
        self.kinds.insert(key, kind);
        Ok(kind)
    }

    fn method(&mut self, method: Struct<'a>) -> Result<RecordedMethod, ReadError> {
        let empty = self.known.profile.names.intern("");
        let class = self.class(method, "type")?.unwrap_or(empty);
        let name = self.name(method, "name")?.unwrap_or(empty);
        let signature = self.name(method, "descriptor")?;
        let signature = signature.filter(|&signature| signature != empty);
        Ok(RecordedMethod {
            class,
            name,
            signature,
        })
    }

    /// Returns the name of the class in a field, as in Java source.
    pub(super) fn class(
        &mut self,
        values: Struct<'_>,
        field: &str,
    ) -> Result<Option<Name>, ReadError> {
        let Value::Constant(key) = values.raw(field)? else {
            return Ok(None);
        };
        if let Some(&class) = self.classes.get(&key) {
            return Ok(class);
        }
        let class = match self.chunk.constant(key)? {
            Value::Struct(class) => self.name(class, "name")?,
            _ => None,
        };
        let names = &mut self.known.profile.names;
        let class = class.map(|name| {
            let source = source_name(names.text(name)).into_owned();
            names.intern(&source)
        });
        self.classes.insert(key, class);
        Ok(class)
    }

    /// Returns the name of the thread of an event, in whichever field it is.
    pub(super) fn thread(&mut self, event: Struct<'_>) -> Result<Option<Name>, ReadError> {
        let mut value = event.raw("eventThread")?;
        if matches!(value, Value::Null) {
            value = event.raw("sampledThread")?;
        }
        let Value::Constant(key) = value else {
            return Ok(None);
        };
        if let Some(&thread) = self.threads.get(&key) {
            return Ok(thread);
        }
        let mut name = None;
        if let Value::Struct(thread) = self.chunk.constant(key)? {
            let empty = self.known.profile.names.intern("");
            for field in ["osName", "javaName"] {
                let found = self.name(thread, field)?;
                name = found.filter(|&found| found != empty).or(name);
            }
        }
        self.threads.insert(key, name);
        Ok(name)
    }

    /// Returns the text in a field, or that of the constant in it: a symbol, a state, a type of frames.
    pub(super) fn name(
        &mut self,
        values: Struct<'_>,
        field: &str,
    ) -> Result<Option<Name>, ReadError> {
        let key = match values.raw(field)? {
            Value::Text(text) => return Ok(Some(self.known.profile.names.intern(&text))),
            Value::Constant(key) => key,
            _ => return Ok(None),
        };
        if let Some(&name) = self.texts.get(&key) {
            return Ok(name);
        }
        let mut value = self.chunk.constant(key)?;
        if let Value::Struct(symbol) = value {
            let only = symbol.of().fields.first();
            value = only.map_or(Ok(Value::Null), |only| symbol.get(&only.name))?;
        }
        let name = match value {
            Value::Text(text) => Some(self.known.profile.names.intern(&text)),
            _ => None,
        };
        self.texts.insert(key, name);
        Ok(name)
    }
}
