//! Verifies a file in the binary format: its structure, and that records only name what stands before them.

mod defined;
mod heap;
mod ids;
mod warnings;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek};

use crate::{
    CONTROL_HEAP_DUMP_FOLLOWS, Fault, Header, HeapKind, IdSize, Item, Reader, Record, RecordKind,
    StringId,
};
use defined::Defined;
use heap::HeapDumps;
use warnings::Tolerance;
pub use warnings::{Occurrences, Warning};

/// What a sound file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What the file says of itself.
    pub header: Header,
    /// How many records of each kind it has, ordered by tag; kinds that it does not have are not in here.
    pub records: BTreeMap<RecordKind, u64>,
    /// Bytes of heap dumps and their segments.
    pub heap_dump_bytes: u64,
    /// How many heap dumps it has, each with all its segments.
    pub heap_dumps: u64,
    /// How many records of each kind stand in them, ordered by tag; kinds that they do not have are not in here.
    pub heap_records: BTreeMap<HeapKind, u64>,
    /// What it does that [`check`] refuses and [`check_tolerantly`] lets pass; nothing after [`check`].
    pub warnings: BTreeMap<Warning, Occurrences>,
    /// Bytes of the whole file.
    pub bytes: u64,
}

/// One line for each kind of record, with the number of them; what stands in heap dumps is indented.
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
/// site may be 0. An id is defined once. Classes and threads may come again with the same content, but for a class's object,
/// which moves: LOAD CLASS may come again with another one.
///
/// In heap dumps, everything that is referred to must be in the same dump: by fields, statics, elements, constants, roots,
/// and by classes as their superclass, loader, signers or protection domain. An instance must have as many bytes as the
/// fields of its class and those above take, and the classes must say so. The class of each object must be there, and each
/// class must have been loaded. Ids are unique in a dump, and each dump has an end.
///
/// Two other writers break some of these rules, and are not blamed for it. The JDK's own agent (settings first, ids of 4
/// bytes): the traces that LOAD CLASS and START THREAD name may come later or never, allocation sites may name classes
/// that it never writes, and it writes the end of its own helper thread, but not the start. The VM's heap dumper (no
/// settings first): the trace of LOAD CLASS comes later, it writes no threads, only their traces, and the array in which
/// HotSpot keeps the objects of its class data archive, which a global reference of native code holds, names class objects
/// that are not dumped, because their classes have not been loaded. Android's dumper (version 1.0.3) says of classes how
/// much memory their instances take, and gives threads the trace 2^32 - 1, which is none.
///
/// A heap dump that broke off, as a STRING under [`StringId::BROKE_OFF`] says, is a fault of the file, and so is one that the
/// agent's CONTROL SETTINGS announce ([`CONTROL_HEAP_DUMP_FOLLOWS`]) and that is neither there nor withdrawn by later settings.
///
/// Memory grows with the number of ids in the file: 16 to 40 bytes each, but only two bits for every 8 bytes of heap that
/// is dumped. A heap dump is read a second time where one pass does not tell which record is at fault, or where
/// instances come before their classes.
///
/// # Errors
/// A [`Fault`] of the file: the first one, but those of a heap dump as a whole are found at its end.
pub fn check<R: Read + Seek>(source: R) -> Result<Summary, Fault> {
    verify(source, Tolerance::new(true))
}

/// [`check`], but what old tools always did is no fault: it is counted in [`Summary::warnings`].
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
            defined.writer = Writer::of(header.id_size, entry.item.kind());
        }
        *records.entry(entry.item.kind()).or_default() += 1;
        match entry.item {
            Item::Record(Record::String {
                id: StringId::BROKE_OFF,
                ref text,
            }) => return Err(heap_dumps.broke_off(entry.offset, text)),
            Item::Record(record) => {
                if let Record::ControlSettings { flags, .. } = record
                    && defined.writer == Writer::Agent
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

/// Who wrote a file: not all keep all rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Writer {
    /// This project's agent, which keeps them.
    #[default]
    Agent,
    /// The JDK's own agent.
    JdkAgent,
    /// The dumper of a VM (`jmap`, `jcmd GC.heap_dump`).
    HeapDumper,
}

impl Writer {
    /// Agents begin with their settings, and the JDK's has ids of 4 bytes on every machine.
    fn of(id_size: IdSize, first_record: RecordKind) -> Writer {
        match (first_record, id_size) {
            (RecordKind::ControlSettings, IdSize::Eight) => Writer::Agent,
            (RecordKind::ControlSettings, IdSize::Four) => Writer::JdkAgent,
            _ => Writer::HeapDumper,
        }
    }
}
