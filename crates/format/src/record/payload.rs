//! The trait of the contents of all kinds of records, and how their fields are read and written.

use std::fmt;

use super::ids::{ClassSerial, FrameId, Line, StringId, ThreadSerial, TraceSerial};
use crate::fields::{Fields, Misfit};

/// The content of one kind of record.
pub(crate) trait Payload<'a>: Sized {
    /// Memory for the rows of a record, reused for the next one of the kind.
    type Rows: fmt::Debug + Default;
    /// The content without borrowed parts.
    type Owned;

    /// Reads the content. A body that is longer is refused by the caller.
    fn decode(fields: &mut Fields<'a>, rows: &'a mut Self::Rows) -> Result<Self, Misfit>;

    /// Appends the content. What does not fit into a record is limited or omitted.
    fn encode(&self, out: &mut PayloadWriter<'_>);

    /// Returns its id or serial number, if it has one.
    fn id(&self) -> Option<u64> {
        None
    }

    /// Calls `visit` with everything that the record names, as opposed to defines or ends, until it fails.
    fn each_named<E>(&self, _visit: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }

    /// Returns the content without borrowed parts.
    fn into_owned(self) -> Self::Owned;
}

/// Something that a record can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A STRING.
    String(StringId),
    /// A LOAD CLASS.
    Class(ClassSerial),
    /// A START THREAD.
    Thread(ThreadSerial),
    /// A TRACE.
    Trace(TraceSerial),
    /// A FRAME.
    Frame(FrameId),
}

impl fmt::Display for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::String(id) => write!(formatter, "string {id}"),
            Named::Class(serial) => write!(formatter, "class {serial}"),
            Named::Thread(serial) => write!(formatter, "thread {serial}"),
            Named::Trace(serial) => write!(formatter, "trace {serial}"),
            Named::Frame(id) => write!(formatter, "frame {id}"),
        }
    }
}

/// Appends a body field by field, in the format's own units: numbers are big-endian, ids have 8 bytes.
pub(crate) struct PayloadWriter<'a>(pub(crate) &'a mut Vec<u8>);

impl PayloadWriter<'_> {
    /// The size of an id, in bytes.
    pub(crate) const ID_SIZE: u32 = 8;

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn line(&mut self, line: Line) {
        let value: i32 = match line {
            // The field is signed: a larger number would read as one of the special values below.
            Line::Number(number) => i32::try_from(number).unwrap_or(i32::MAX),
            Line::Unknown => -1,
            Line::Compiled => -2,
            Line::Native => -3,
        };
        self.bytes(&value.to_be_bytes());
    }

    /// Appends the number of rows that follow.
    pub(super) fn count<T>(&mut self, rows: &[T]) {
        self.u32(Self::saturated(rows.len() as u64));
    }

    pub(super) fn id(&mut self, id: u64) {
        self.u64(id);
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn saturated(value: u64) -> u32 {
        u32::try_from(value).unwrap_or(u32::MAX)
    }

    /// Returns as many rows of `size` bytes as a body has room for after `before` bytes.
    pub(super) fn fitting<T>(rows: &[T], before: u32, size: u32) -> &[T] {
        let room = (u32::MAX - before) / size;
        &rows[..rows.len().min(room as usize)]
    }
}
