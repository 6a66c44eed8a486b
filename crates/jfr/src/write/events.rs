//! Events, and the types that describe them.

use super::classes::ClassId;
use super::labels::LabelId;
use super::stacks::StackId;
use super::threads::ThreadId;
use crate::constants::{annotations, fields, types};
use crate::encoding::encode;
use crate::error::WriteError;

/// Names a type of events of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventTypeId(pub(super) usize);

/// A type of events. Each event has the time at which it began, and the fields.
#[derive(Clone, Debug, Default)]
pub struct EventType {
    /// The name, `jdk.ExecutionSample`.
    pub name: &'static str,
    /// The name for people; empty for none.
    pub label: &'static str,
    /// The meaning; empty for none.
    pub description: &'static str,
    /// The folders in which viewers show it, from the outermost.
    pub category: &'static [&'static str],
    /// The fields.
    pub fields: Vec<EventField>,
}

/// A field of a type of events.
#[derive(Clone, Copy, Debug)]
pub struct EventField {
    /// The name, `allocatedBytes`.
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The values that it has.
    pub kind: FieldKind,
}

/// The values that a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Nanoseconds that the event took. The field must be the first, and have the name `duration`.
    Duration,
    /// A thread.
    Thread,
    /// A stack trace.
    Stack,
    /// A class.
    Class,
    /// A state of a thread, of [`crate::Recording::thread_states`].
    State,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Milliseconds since 1970.
    Time,
    /// A text.
    Text,
}

/// A value of an event.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    /// A thread, or none.
    Thread(Option<ThreadId>),
    /// A stack trace, or none.
    Stack(Option<StackId>),
    /// A class, or none.
    Class(Option<ClassId>),
    /// A state of a thread.
    State(LabelId),
    /// A number. The format's are signed; a larger one is written as the largest.
    Number(u64),
    /// A text.
    Text(&'a str),
}

impl EventField {
    /// The thread in which an event happened.
    pub const THREAD: EventField = EventField {
        name: fields::EVENT_THREAD,
        label: "Event Thread",
        kind: FieldKind::Thread,
    };
    /// The stack with which it happened.
    pub const STACK: EventField = EventField {
        name: fields::STACK_TRACE,
        label: "Stack Trace",
        kind: FieldKind::Stack,
    };
    /// The time it took.
    pub const DURATION: EventField = EventField {
        name: fields::DURATION,
        label: "Duration",
        kind: FieldKind::Duration,
    };
}

impl FieldKind {
    /// Returns the name of its type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            FieldKind::Thread => types::THREAD,
            FieldKind::Stack => types::STACK_TRACE,
            FieldKind::Class => types::CLASS,
            FieldKind::State => types::THREAD_STATE,
            FieldKind::Text => types::STRING,
            _ => types::LONG,
        }
    }

    /// Returns `true` if its values are keys of constants.
    pub(super) fn is_constant(self) -> bool {
        use FieldKind::{Class, Stack, State, Thread};
        matches!(self, Thread | Stack | Class | State)
    }

    /// Returns the annotation that gives its unit.
    pub(super) fn unit(self) -> Option<(&'static str, &'static str)> {
        match self {
            FieldKind::Duration => Some((annotations::TIMESPAN, annotations::TICKS)),
            FieldKind::Nanoseconds => Some((annotations::TIMESPAN, annotations::NANOSECONDS)),
            FieldKind::Bytes => Some((annotations::DATA_AMOUNT, annotations::BYTES)),
            FieldKind::Time => Some((
                annotations::TIMESTAMP,
                annotations::MILLISECONDS_SINCE_EPOCH,
            )),
            _ => None,
        }
    }

    fn has(self, value: FieldValue<'_>) -> bool {
        match value {
            FieldValue::Thread(_) => self == FieldKind::Thread,
            FieldValue::Stack(_) => self == FieldKind::Stack,
            FieldValue::Class(_) => self == FieldKind::Class,
            FieldValue::State(_) => self == FieldKind::State,
            FieldValue::Number(_) => self.type_name() == types::LONG,
            FieldValue::Text(_) => self == FieldKind::Text,
        }
    }
}

impl EventType {
    /// Writes the content of an event that began so many ticks after the recording.
    pub(super) fn write(
        &self,
        ticks: u64,
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        let mut pairs = self.fields.iter().zip(values);
        let fits = pairs.all(|(field, &value)| field.kind.has(value));
        if !fits || self.fields.len() != values.len() {
            return Err(WriteError::Values(self.name.to_owned()));
        }
        encode::long(out, ticks);
        for value in values {
            match *value {
                FieldValue::Thread(thread) => encode::long(out, thread.map_or(0, |id| id.0)),
                FieldValue::Stack(stack) => encode::long(out, stack.map_or(0, |id| id.0)),
                FieldValue::Class(class) => encode::long(out, class.map_or(0, |id| id.0)),
                FieldValue::State(state) => encode::long(out, state.0),
                FieldValue::Number(number) => {
                    encode::long(out, number.min(i64::MAX.cast_unsigned()));
                }
                FieldValue::Text(text) => encode::text(out, text),
            }
        }
        Ok(())
    }
}
