//! Verifies a file in the binary format: its structure, and that records only name what stands before them.

mod heap;
mod ids;
mod warnings;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::io::{Read, Seek};

use foldhash::HashMap;

use crate::{
    ClassSerial, Fault, FrameId, Header, HeapKind, IdSize, Item, Named, ObjectId, Reader, Record,
    RecordKind, StringId, Subject, ThreadSerial, TraceSerial,
};
use heap::HeapDumps;
use warnings::Tolerance;
pub use warnings::{Occurrences, Warning};

/// "Any thread", and the unknown thread: never started, yet traces may name them.
const NO_THREADS: [ThreadSerial; 2] = [ThreadSerial(0), ThreadSerial(200_000)];

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
/// A heap dump that broke off, as a STRING under [`StringId::BROKE_OFF`] says, is a fault of the file.
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
            Item::Record(record) => defined.add(entry.offset, &record, &mut tolerance)?,
            Item::HeapDump { length, .. } => {
                heap_dump_bytes += u64::from(length);
                let (offset, kind) = (entry.offset, entry.item.kind());
                heap_dumps.read(&mut reader, offset, kind, &defined, &mut tolerance)?;
            }
            Item::HeapDumpEnd => heap_dumps.end(&mut reader, &defined, &mut tolerance)?,
        }
    }
    heap_dumps.ended()?;
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

/// A digest of a record's content: equal content has equal digests.
type Digest = u64;

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

/// What the file has defined so far.
#[derive(Default)]
struct Defined {
    writer: Writer,
    strings: HashMap<StringId, Digest>,
    frames: HashMap<FrameId, Digest>,
    traces: HashMap<TraceSerial, Digest>,
    classes: HashMap<ClassSerial, Spanned>,
    /// Classes by their objects, and the other way round, as of now.
    class_objects: HashMap<ObjectId, ClassSerial>,
    objects_of_classes: HashMap<ClassSerial, ObjectId>,
    threads: HashMap<ThreadSerial, Spanned>,
}

/// A class or a thread, which can go and still be named.
struct Spanned {
    digest: Digest,
    /// Loaded and not unloaded, or started and not ended.
    live: bool,
}

impl Defined {
    /// Verifies a record against what is defined, then adds what it defines.
    fn add(
        &mut self,
        offset: u64,
        record: &Record<'_>,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        let subject = Subject::of(record);
        each_named(record, |named| {
            let mut may_be_missing = || {
                matches!(named, Named::Thread(_))
                    && tolerance.allows(Warning::ThreadNotStarted, offset)
            };
            if self.has(named, subject.kind) || may_be_missing() {
                return Ok(());
            }
            Err(Fault::Undefined {
                offset,
                subject,
                named,
            })
        })?;
        let defined = match *record {
            Record::String { id, ref text } => match define(&mut self.strings, id, text) {
                // No record names a note: another one under its id misleads nobody.
                Definition::Other if id.is_note() => Definition::Repeated,
                defined => defined,
            },
            Record::LoadClass {
                serial,
                class_object,
                trace,
                name,
            } => {
                self.class_moves(serial, class_object);
                span(&mut self.classes, serial, (trace, name))
            }
            Record::UnloadClass { serial } => {
                let may_be_missing = self.writer != Writer::Agent;
                let was_loaded = end(&mut self.classes, serial)
                    || may_be_missing && tolerance.allows(Warning::ClassNotLoaded, offset);
                if !was_loaded {
                    return Err(Fault::NotLoaded {
                        offset,
                        class: serial,
                    });
                }
                Definition::None
            }
            Record::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            } => {
                let content = (method, signature, source_file, class, line);
                define(&mut self.frames, id, content)
            }
            Record::Trace {
                serial,
                thread,
                ref frames,
            } => define(&mut self.traces, serial, (thread, frames)),
            Record::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            } => span(
                &mut self.threads,
                serial,
                (object, trace, name, group, parent_group),
            ),
            Record::EndThread { serial } => {
                let unwritten = !self.threads.contains_key(&serial)
                    && (self.writer == Writer::JdkAgent
                        || tolerance.allows(Warning::ThreadNotStarted, offset));
                if !unwritten && !end(&mut self.threads, serial) {
                    return Err(Fault::NotRunning {
                        offset,
                        thread: serial,
                    });
                }
                Definition::None
            }
            Record::CpuSamples { total, ref rows } => {
                let sum = rows.iter().map(|row| u64::from(row.count)).sum();
                // A total that fills its field may have been larger.
                if sum > u64::from(total) && total < u32::MAX {
                    return Err(Fault::CpuTotal {
                        offset,
                        total,
                        rows: sum,
                    });
                }
                Definition::None
            }
            Record::AllocSites { .. }
            | Record::HeapSummary { .. }
            | Record::HeapDumpSegment { .. }
            | Record::HeapDumpEnd
            | Record::ControlSettings { .. } => Definition::None,
        };
        match defined {
            Definition::None | Definition::New => Ok(()),
            Definition::Repeated if tolerance.allows(Warning::Repeated, offset) => Ok(()),
            Definition::Repeated => Err(Fault::Repeated { offset, subject }),
            Definition::Other => Err(Fault::Redefined { offset, subject }),
        }
    }

    /// Classes are objects, and objects move: from one heap dump to the next, a class may have taken another's place.
    fn class_moves(&mut self, class: ClassSerial, to: ObjectId) {
        if let Some(from) = self.objects_of_classes.insert(class, to)
            && self.class_objects.get(&from) == Some(&class)
        {
            self.class_objects.remove(&from);
        }
        self.class_objects.insert(to, class);
    }

    fn has(&self, named: Named, by: RecordKind) -> bool {
        match named {
            Named::String(id) => self.strings.contains_key(&id),
            Named::Frame(id) => self.frames.contains_key(&id),
            Named::Class(serial) => {
                self.classes.contains_key(&serial)
                    || self.writer == Writer::JdkAgent && by == RecordKind::AllocSites
            }
            Named::Thread(serial) => {
                self.threads.contains_key(&serial)
                    || NO_THREADS.contains(&serial)
                    || self.writer == Writer::HeapDumper
            }
            Named::Trace(serial) => {
                self.traces.contains_key(&serial)
                    || self.writer != Writer::Agent
                        && matches!(by, RecordKind::LoadClass | RecordKind::StartThread)
            }
        }
    }
}

/// Calls `visit` with everything that a record names, as opposed to defines, until it fails.
fn each_named(
    record: &Record<'_>,
    mut visit: impl FnMut(Named) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match *record {
        Record::LoadClass { trace, name, .. } => {
            visit(Named::Trace(trace))?;
            visit(Named::String(name))
        }
        Record::Frame {
            method,
            signature,
            source_file,
            class,
            ..
        } => {
            visit(Named::String(method))?;
            visit(Named::String(signature))?;
            if source_file != StringId(0) {
                visit(Named::String(source_file))?;
            }
            visit(Named::Class(class))
        }
        Record::Trace {
            thread, ref frames, ..
        } => {
            visit(Named::Thread(thread))?;
            frames
                .iter()
                .try_for_each(|&frame| visit(Named::Frame(frame)))
        }
        Record::StartThread {
            trace,
            name,
            group,
            parent_group,
            ..
        } => {
            visit(Named::Trace(trace))?;
            visit(Named::String(name))?;
            let groups = [group, parent_group]
                .into_iter()
                .filter(|&id| id != StringId(0));
            groups.map(Named::String).try_for_each(visit)
        }
        Record::CpuSamples { ref rows, .. } => rows
            .iter()
            .try_for_each(|row| visit(Named::Trace(row.trace))),
        Record::AllocSites { ref sites, .. } => sites.iter().try_for_each(|site| {
            if site.class != ClassSerial(0) {
                visit(Named::Class(site.class))?;
            }
            visit(Named::Trace(site.trace))
        }),
        // What ends a class or a thread has rules of its own.
        Record::UnloadClass { .. } | Record::EndThread { .. } => Ok(()),
        Record::String { .. }
        | Record::HeapDumpSegment { .. }
        | Record::HeapDumpEnd
        | Record::HeapSummary { .. }
        | Record::ControlSettings { .. } => Ok(()),
    }
}

/// What a record does to the ids of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Definition {
    /// It defines none.
    None,
    /// Its id is new.
    New,
    /// Its id was defined with the same content.
    Repeated,
    /// Its id was defined with other content.
    Other,
}

/// Defines `id`, unless it is defined.
fn define<Id: Eq + Hash>(ids: &mut HashMap<Id, Digest>, id: Id, content: impl Hash) -> Definition {
    let digest = ids.hasher().hash_one(content);
    match ids.insert(id, digest) {
        None => Definition::New,
        Some(before) if before == digest => Definition::Repeated,
        Some(_) => Definition::Other,
    }
}

/// Begins the life of a class or a thread, which may begin again.
fn span<Id: Eq + Hash>(ids: &mut HashMap<Id, Spanned>, id: Id, content: impl Hash) -> Definition {
    let digest = ids.hasher().hash_one(content);
    let spanned = ids.entry(id).or_insert(Spanned { digest, live: true });
    spanned.live = true;
    match spanned.digest == digest {
        true => Definition::New,
        false => Definition::Other,
    }
}

/// Whether `id` was alive until now.
fn end<Id: Eq + Hash>(ids: &mut HashMap<Id, Spanned>, id: Id) -> bool {
    ids.get_mut(&id)
        .is_some_and(|spanned| std::mem::replace(&mut spanned.live, false))
}
