//! The faults that a file can have.

use std::fmt;

use crate::kind::HeapKind;
use crate::reader::ReadError;
use crate::record::Record;
use crate::record::RecordKind;
use crate::record::{ClassSerial, Named, ObjectId, ThreadSerial};

/// The first fault of a file. Offsets are in bytes from the start of the file, and refer to the start of a record.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A record, or the header, cannot be read. [`ReadError::Truncated`] means that the file was cut off.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record names something that no record before it defines.
    #[error("byte {offset}: {subject} names {named}, which is not in the file before it")]
    Undefined {
        /// The offset of the record.
        offset: u64,
        /// The record.
        subject: Subject,
        /// The thing that it names.
        named: Named,
    },
    /// A record has the id of an earlier one of its kind, but different content.
    #[error("byte {offset}: {subject} is in the file before it with other content")]
    Redefined {
        /// The offset of the second record.
        offset: u64,
        /// The record.
        subject: Subject,
    },
    /// A record has the id of an earlier one of its kind, and the same content.
    #[error("byte {offset}: {subject} is in the file before it")]
    Repeated {
        /// The offset of the second record.
        offset: u64,
        /// The record.
        subject: Subject,
    },
    /// UNLOAD CLASS of a class that was never loaded, or has already been unloaded.
    #[error("byte {offset}: UNLOAD CLASS {class}: that class is not loaded here")]
    NotLoaded {
        /// The offset of the record.
        offset: u64,
        /// The class.
        class: ClassSerial,
    },
    /// END THREAD of a thread that was never started, or has ended already.
    #[error("byte {offset}: END THREAD {thread}: that thread is not running here")]
    NotRunning {
        /// The offset of the record.
        offset: u64,
        /// The thread.
        thread: ThreadSerial,
    },
    /// The rows of CPU SAMPLES add up to more than its total.
    #[error(
        "byte {offset}: CPU SAMPLES has rows of {rows} samples in all, but says that there are {total}"
    )]
    CpuTotal {
        /// The offset of the record.
        offset: u64,
        /// The total in the record.
        total: u32,
        /// The sum over its rows.
        rows: u64,
    },
    /// A record inside a heap dump is invalid, or inconsistent with the others.
    #[error("byte {offset}: {subject} {fault}")]
    Heap {
        /// The offset of the record.
        offset: u64,
        /// The record.
        subject: HeapSubject,
        /// The fault of the record.
        fault: HeapFault,
    },
    /// The segments of a heap dump are not followed by their end.
    #[error("byte {offset}: the heap dump that starts here has no HEAP DUMP END")]
    DumpNotEnded {
        /// The offset of its first segment.
        offset: u64,
    },
    /// A heap dump was announced, and the file ends without one.
    #[error(
        "byte {offset}: a heap dump is announced here and is not in the file: it could not be written, or the program was \
         killed or still runs"
    )]
    DumpMissing {
        /// The offset of the CONTROL SETTINGS that announce it.
        offset: u64,
    },
    /// The writer could not finish a heap dump, and recorded that.
    #[error("byte {at}: {what}: {reason}", at = start.unwrap_or(*offset), what = broke_off(*start))]
    DumpBrokeOff {
        /// The offset of its first record; `None` if none was written.
        start: Option<u64>,
        /// The offset of the record that announces it.
        offset: u64,
        /// The reason, made printable.
        reason: String,
    },
}

fn broke_off(start: Option<u64>) -> &'static str {
    match start {
        Some(_) => "the heap dump that starts here broke off",
        None => "a heap dump broke off before its first record",
    }
}

impl Fault {
    /// Returns the offset that the fault is about.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            Fault::Read(ref error) => error.offset(),
            Fault::Undefined { offset, .. }
            | Fault::Redefined { offset, .. }
            | Fault::Repeated { offset, .. }
            | Fault::NotLoaded { offset, .. }
            | Fault::NotRunning { offset, .. }
            | Fault::CpuTotal { offset, .. }
            | Fault::Heap { offset, .. }
            | Fault::DumpNotEnded { offset }
            | Fault::DumpMissing { offset } => offset,
            Fault::DumpBrokeOff { start, offset, .. } => start.unwrap_or(offset),
        }
    }

    pub(crate) fn heap(
        offset: u64,
        kind: HeapKind,
        object: Option<ObjectId>,
        fault: HeapFault,
    ) -> Fault {
        let subject = HeapSubject { kind, object };
        Fault::Heap {
            offset,
            subject,
            fault,
        }
    }
}

/// The faults that a record inside a heap dump can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeapFault {
    /// It names something that no record before the dump defines.
    #[error("names {0}, which is not in the file before it")]
    Undefined(Named),
    /// It refers to an object that is not in the dump.
    #[error("has the {role} 0x{object:x}, which is not in this heap dump", object = object.0)]
    Dangling {
        /// The role of the object in the record.
        role: &'static str,
        /// The object.
        object: ObjectId,
    },
    /// It refers to a class that is not in the dump; if there is an object with that id, it is not a class.
    #[error("has the {role} 0x{class:x}, which has no CLASS DUMP in this heap dump", class = class.0)]
    NoClass {
        /// The role of the class in the record.
        role: &'static str,
        /// The class.
        class: ObjectId,
    },
    /// An instance has more or fewer bytes than its class states.
    #[error("has {bytes} bytes of fields, but those of its class 0x{class:x} and its superclasses take {size}", class = class.0)]
    InstanceSize {
        /// The size of its fields, in bytes.
        bytes: u64,
        /// Its class.
        class: ObjectId,
        /// The size of the class's fields, including those of its superclasses, in bytes.
        size: u64,
    },
    /// A class states a wrong size for its instances.
    #[error(
        "says that instances take {stated} bytes, but its fields and those of its superclasses take {size}"
    )]
    ClassSize {
        /// The size it states.
        stated: u32,
        /// The size of its fields, including those of its superclasses.
        size: u64,
    },
    /// A class has an endless chain of superclasses, because it contains a cycle.
    #[error("has superclasses without end: one of them is above itself")]
    SuperCircle,
    /// The dump already has an object with this id.
    #[error("has the id of an object before it in this heap dump")]
    Duplicate,
    /// A class was not loaded.
    #[error("is of a class that no LOAD CLASS before it has as its object")]
    NotLoaded,
}

/// A record inside a heap dump, as printed in a fault: `INSTANCE DUMP 0x7fe0`, `HEAP DUMP INFO`. Ids of objects are
/// hexadecimal, as in the text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapSubject {
    /// Its kind.
    pub kind: HeapKind,
    /// The object that it is about.
    pub object: Option<ObjectId>,
}

impl fmt::Display for HeapSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.object {
            Some(object) => write!(formatter, "{} 0x{:x}", self.kind, object.0),
            None => write!(formatter, "{}", self.kind),
        }
    }
}

/// A record, as printed in a fault: `FRAME 500001`, `CPU SAMPLES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its kind.
    pub kind: RecordKind,
    /// Its id or serial number, if it has one.
    pub id: Option<u64>,
}

impl Subject {
    pub(crate) fn of(record: &Record<'_>) -> Subject {
        Subject {
            kind: record.kind(),
            id: record.id(),
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
