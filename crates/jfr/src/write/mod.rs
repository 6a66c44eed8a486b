//! Writes recordings: typed tables, which become constants, and events that name their rows.

mod classes;
mod events;
mod labels;
mod methods;
mod pool;
mod stacks;
mod symbols;
mod threads;
mod types;

use std::io::Write;

pub use classes::{ClassId, Classes};
pub use events::{EventField, EventType, EventTypeId, FieldKind, FieldValue};
pub use labels::{LabelId, Labels};
pub use methods::{Method, MethodId, Methods};
pub use stacks::{Frame, StackId, Stacks};
pub use symbols::{SymbolId, Symbols};
pub use threads::{ThreadId, Threads};

use crate::constants::{CHECKPOINT, GENERIC_CHECKPOINT, HEADER_SIZE, METADATA, types as names};
use crate::encoding::encode;
use crate::error::WriteError;
use crate::header::Header;
use pool::Pool;

/// A tick is a nanosecond.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// A recording of one chunk. Its tables are filled in any order, before the events that name their rows.
#[derive(Debug, Default)]
pub struct Recording {
    /// The names of classes and methods, and signatures.
    pub symbols: Symbols,
    /// The classes.
    pub classes: Classes,
    /// The methods.
    pub methods: Methods,
    /// The stack traces.
    pub stacks: Stacks,
    /// The threads.
    pub threads: Threads,
    /// The states of threads, such as `STATE_RUNNABLE`.
    pub thread_states: Labels,
    /// The ways in which frames run, such as `Interpreted`.
    pub frame_types: Labels,
    start_nanos: u64,
    duration_nanos: u64,
    event_types: Vec<EventType>,
    events: Vec<u8>,
    content: Vec<u8>,
}

impl Recording {
    /// Creates an empty recording of a time: when it began, in nanoseconds since 1970, and how long it was.
    #[must_use]
    pub fn new(start_nanos: u64, duration_nanos: u64) -> Recording {
        Recording {
            start_nanos,
            duration_nanos,
            ..Recording::default()
        }
    }

    /// Adds a type of events.
    pub fn event_type(&mut self, event_type: EventType) -> EventTypeId {
        self.event_types.push(event_type);
        EventTypeId(self.event_types.len() - 1)
    }

    /// Adds an event that began so many nanoseconds after the recording.
    ///
    /// # Errors
    /// [`WriteError::Values`], if the values are not those of its type's fields.
    pub fn event(
        &mut self,
        event_type: EventTypeId,
        nanos: u64,
        values: &[FieldValue<'_>],
    ) -> Result<(), WriteError> {
        self.content.clear();
        let of = &self.event_types[event_type.0];
        of.write(nanos, values, &mut self.content)?;
        let kind = types::event_id(event_type.0);
        encode::event(&mut self.events, kind, &self.content);
        Ok(())
    }

    /// Writes the recording: a header, the metadata, the constants, and the events.
    ///
    /// # Errors
    /// [`WriteError::Io`], those of `out`.
    pub fn write(&self, mut out: impl Write) -> Result<(), WriteError> {
        let metadata = self.metadata();
        let checkpoint = self.checkpoint();
        let header = Header {
            size: (HEADER_SIZE + metadata.len() + checkpoint.len() + self.events.len()) as u64,
            metadata: HEADER_SIZE as u64,
            checkpoint: (HEADER_SIZE + metadata.len()) as u64,
            start_nanos: self.start_nanos,
            duration_nanos: self.duration_nanos,
            ticks_per_second: TICKS_PER_SECOND,
            ..Header::WRITTEN
        };
        let mut head = Vec::with_capacity(HEADER_SIZE);
        header.write(&mut head);
        for part in [&head, &metadata, &checkpoint, &self.events] {
            out.write_all(part)?;
        }
        out.flush()?;
        Ok(())
    }

    fn metadata(&self) -> Vec<u8> {
        let mut content = Vec::new();
        encode::long(&mut content, 0);
        encode::long(&mut content, self.duration_nanos);
        // The number of the metadata: there is one.
        encode::long(&mut content, 1);
        types::metadata(&self.event_types).write(&mut content);
        let mut event = Vec::new();
        encode::event(&mut event, METADATA, &content);
        event
    }

    fn checkpoint(&self) -> Vec<u8> {
        let pools: [(&str, &dyn Pool); 8] = [
            (names::SYMBOL, &self.symbols),
            (names::PACKAGE, &self.classes.packages),
            (names::CLASS, &self.classes),
            (names::METHOD, &self.methods),
            (names::FRAME_TYPE, &self.frame_types),
            (names::THREAD_STATE, &self.thread_states),
            (names::STACK_TRACE, &self.stacks),
            (names::THREAD, &self.threads),
        ];
        let mut content = Vec::new();
        encode::long(&mut content, 0);
        encode::long(&mut content, self.duration_nanos);
        // No checkpoint is before it.
        encode::long(&mut content, 0);
        content.push(GENERIC_CHECKPOINT);
        // The JDK's reader refuses empty ones.
        let pools = pools.into_iter().filter(|(_, pool)| pool.len() > 0);
        let pools: Vec<_> = pools.collect();
        encode::long(&mut content, pools.len() as u64);
        for (name, pool) in pools {
            encode::long(&mut content, types::id(name));
            encode::long(&mut content, pool.len() as u64);
            pool.write(&mut content);
        }
        let mut event = Vec::new();
        encode::event(&mut event, CHECKPOINT, &content);
        event
    }
}
