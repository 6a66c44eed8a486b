//! Verifies a file in the binary format: its structure, and that records only name records before them.

mod defined;
mod heap;
mod ids;
mod warnings;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek};

use crate::fault::Fault;
use crate::id_size::IdSize;
use crate::kind::HeapKind;
use crate::reader::{Header, Item, Reader};
use crate::record::RecordKind;
use crate::record::StringId;
use crate::record::{CONTROL_HEAP_DUMP_FOLLOWS, ControlSettingsRecord, Record, StringRecord};
use defined::Defined;
use heap::HeapDumps;
use warnings::Tolerance;
pub use warnings::{Occurrences, Warning};

/// A summary of a valid file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The file's header.
    pub header: Header,
    /// The number of records of each kind, ordered by tag; kinds that do not occur are absent.
    pub records: BTreeMap<RecordKind, u64>,
    /// The size of heap dumps and their segments, in bytes.
    pub heap_dump_bytes: u64,
    /// The number of heap dumps, each with all its segments.
    pub heap_dumps: u64,
    /// The number of records of each kind in heap dumps, ordered by tag; kinds that do not occur are absent.
    pub heap_records: BTreeMap<HeapKind, u64>,
    /// The deviations that [`check`] refuses and [`check_tolerantly`] accepts; always empty after [`check`].
    pub warnings: BTreeMap<Warning, Occurrences>,
    /// The size of the whole file, in bytes.
    pub bytes: u64,
}

/// Prints one line for each kind of record, with their number; records in heap dumps are indented.
impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (&kind, count) in &self.records {
            write!(out, "{count:>10} {kind}")?;
            if matches!(kind, RecordKind::HeapDump | RecordKind::HeapDumpSegment) {
                write!(out, " ({} bytes)", self.heap_dump_bytes)?;
            }
            writeln!(out)?;
        }
        for (&kind, count) in &self.heap_records {
            writeln!(out, "{count:>10}   {kind}")?;
        }
        Ok(())
    }
}

/// Reads a whole file and verifies it.
///
/// Every string, class, thread, trace and frame that a record names must have been defined before it; a class may have
/// been unloaded since. The optional strings (a frame's source file, a thread's groups) and the class of an allocation
/// site may be 0. An id is defined once. Classes and threads may be defined again with the same content, except for a
/// class's object, which can move: LOAD CLASS may be repeated with another one.
///
/// In heap dumps, everything that is referred to must be in the same dump: by fields, statics, elements, constants,
/// roots, and by classes as their superclass, loader, signers or protection domain. An instance must have as many bytes
/// as the fields of its class and those above take, and the classes must say so. The class of each object must be
/// there, and each class must have been loaded. Ids are unique in a dump, and each dump has an end.
///
/// Other writers break some of these rules, which is accepted. The JDK's own agent (settings first, ids of 4 bytes):
/// the traces that LOAD CLASS and START THREAD name may come later or never, allocation sites may name classes that it
/// never writes, and it writes the end of its own helper thread, but not the start. The VM's heap dumper (no settings
/// first): the trace of LOAD CLASS comes later, it writes no threads, only their traces, and the array in which HotSpot
/// keeps the objects of its class data archive, which a global reference of native code holds, names class objects that
/// are not dumped, because their classes have not been loaded. Android's dumper (version 1.0.3) writes the memory size
/// of instances in classes, and gives threads without a stack the trace 2^32 - 1.
///
/// A heap dump that broke off, according to a STRING under [`StringId::BROKE_OFF`], is a fault of the file, and so is a
/// missing one that the agent's CONTROL SETTINGS announce ([`CONTROL_HEAP_DUMP_FOLLOWS`]) and that no later settings
/// withdraw.
///
/// Memory grows with the number of ids in the file: 16 to 40 bytes each, but only two bits for every 8 bytes of heap
/// that is dumped. A heap dump is read a second time if one pass does not determine the record at fault, or if
/// instances come before their classes.
///
/// # Errors
/// The first [`Fault`] of the file; faults of a heap dump as a whole are found only at its end.
pub fn check<R: Read + Seek>(source: R) -> Result<Summary, Fault> {
    verify(source, Tolerance::new(true))
}

/// As [`check`], but habits of old tools are not faults: they are counted in [`Summary::warnings`].
///
/// # Errors
/// As [`check`].
pub fn check_tolerantly<R: Read + Seek>(source: R) -> Result<Summary, Fault> {
    verify(source, Tolerance::new(false))
}

fn verify<R: Read + Seek>(source: R, mut tolerance: Tolerance) -> Result<Summary, Fault> {
    let mut reader = Reader::new(source)?;
    let header = reader.header();
    let mut defined = Defined::default();
    let mut records = BTreeMap::new();
    let mut heap_dump_bytes = 0;
    let mut heap_dumps = HeapDumps::default();
    while let Some(entry) = reader.read()? {
        if records.is_empty() {
            defined.writer = WriterKind::of(header.id_size, entry.item.kind());
        }
        *records.entry(entry.item.kind()).or_default() += 1;
        match entry.item {
            Item::Record(Record::String(StringRecord {
                id: StringId::BROKE_OFF,
                ref text,
            })) => return Err(heap_dumps.broke_off(entry.offset, text)),
            Item::Record(record) => {
                if let Record::ControlSettings(ControlSettingsRecord { flags, .. }) = record
                    && defined.writer == WriterKind::Agent
                {
                    let follows = flags & CONTROL_HEAP_DUMP_FOLLOWS != 0;
                    heap_dumps.announce(entry.offset, follows);
                }
                defined.add(entry.offset, &record, &mut tolerance)?;
            }
            Item::HeapDump { length, .. } => {
                heap_dump_bytes += u64::from(length);
                let (offset, kind) = (entry.offset, entry.item.kind());
                heap_dumps.read(&mut reader, offset, kind, &defined, &mut tolerance)?;
            }
            Item::HeapDumpEnd => heap_dumps.end(&mut reader, &defined, &mut tolerance)?,
        }
    }
    heap_dumps.file_ended()?;
    Ok(Summary {
        header,
        records,
        heap_dump_bytes,
        heap_dumps: heap_dumps.complete,
        heap_records: heap_dumps.records,
        warnings: tolerance.warnings,
        bytes: reader.position(),
    })
}

/// The writer of a file: not all follow all rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriterKind {
    /// This project's agent, which follows them.
    #[default]
    Agent,
    /// The JDK's own agent.
    JdkAgent,
    /// The dumper of a VM (`jmap`, `jcmd GC.heap_dump`).
    HeapDumper,
}

impl WriterKind {
    /// Identifies the writer. Agents begin with their settings, and the JDK's has ids of 4 bytes on every machine.
    fn of(id_size: IdSize, first_record: RecordKind) -> WriterKind {
        match (first_record, id_size) {
            (RecordKind::ControlSettings, IdSize::Eight) => WriterKind::Agent,
            (RecordKind::ControlSettings, IdSize::Four) => WriterKind::JdkAgent,
            _ => WriterKind::HeapDumper,
        }
    }
}
