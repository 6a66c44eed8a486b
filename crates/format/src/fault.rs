//! What can be wrong with a file.

use std::fmt;

use crate::{
    ClassSerial, FrameId, ReadError, Record, RecordKind, StringId, ThreadSerial, TraceSerial,
};

/// The first thing that is wrong with a file. Offsets are where the record starts, in bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A record, or the header, cannot be read. [`ReadError::Truncated`] tells a file that was cut off.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record names what no record before it defines.
    #[error("byte {offset}: {subject} names {named}, which is not in the file before it")]
    Undefined {
        /// Where the record starts.
        offset: u64,
        /// The record.
        subject: Subject,
        /// What it names.
        named: Named,
    },
    /// A record has the id of one of its kind before it, but not its content.
    #[error("byte {offset}: {subject} is in the file before it with other content")]
    Redefined {
        /// Where the second record starts.
        offset: u64,
        /// The record.
        subject: Subject,
    },
    /// UNLOAD CLASS of a class that was never loaded, or is unloaded already.
    #[error("byte {offset}: UNLOAD CLASS {class}: that class is not loaded here")]
    NotLoaded {
        /// Where the record starts.
        offset: u64,
        /// The class.
        class: ClassSerial,
    },
    /// END THREAD of a thread that was never started, or has ended already.
    #[error("byte {offset}: END THREAD {thread}: that thread is not running here")]
    NotRunning {
        /// Where the record starts.
        offset: u64,
        /// The thread.
        thread: ThreadSerial,
    },
    /// The rows of CPU SAMPLES add up to more than its total.
    #[error(
        "byte {offset}: CPU SAMPLES has rows of {rows} samples in all, but says that there are {total}"
    )]
    CpuTotal {
        /// Where the record starts.
        offset: u64,
        /// What the record says.
        total: u32,
        /// The sum over its rows.
        rows: u64,
    },
}

impl Fault {
    /// The byte of the file that the fault is about.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            Fault::Read(ref error) => error.offset(),
            Fault::Undefined { offset, .. }
            | Fault::Redefined { offset, .. }
            | Fault::NotLoaded { offset, .. }
            | Fault::NotRunning { offset, .. }
            | Fault::CpuTotal { offset, .. } => offset,
        }
    }
}

/// A record, as a fault names it: `FRAME 500001`, `CPU SAMPLES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its kind.
    pub kind: RecordKind,
    /// Its id or serial number, where it has one.
    pub id: Option<u64>,
}

impl Subject {
    pub(crate) fn of(record: &Record<'_>) -> Subject {
        let id = match *record {
            Record::String { id, .. } => Some(id.0),
            Record::Frame { id, .. } => Some(id.0),
            Record::LoadClass { serial, .. } | Record::UnloadClass { serial } => {
                Some(serial.0.into())
            }
            Record::Trace { serial, .. } => Some(serial.0.into()),
            Record::StartThread { serial, .. } | Record::EndThread { serial } => {
                Some(serial.0.into())
            }
            Record::AllocSites { .. }
            | Record::HeapSummary { .. }
            | Record::CpuSamples { .. }
            | Record::HeapDumpSegment { .. }
            | Record::HeapDumpEnd
            | Record::ControlSettings { .. } => None,
        };
        Subject {
            kind: record.kind(),
            id,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(id) => write!(formatter, "{} {id}", self.kind),
            None => write!(formatter, "{}", self.kind),
        }
    }
}

/// What a record can name.
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
