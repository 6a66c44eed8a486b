//! The definitions in a file, and whether records may name them.

use std::hash::{BuildHasher, Hash};

use foldhash::HashMap;

use super::WriterKind;
use super::warnings::{Tolerance, Warning};
use crate::fault::{Fault, Subject};
use crate::kind::HeapKind;
use crate::record::Named;
use crate::record::RecordKind;
use crate::record::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use crate::record::{CpuSamplesRecord, EndThreadRecord, Record, StringRecord, UnloadClassRecord};

/// The trace that Android's dumper writes for a thread without a stack.
const NO_TRACE: TraceSerial = TraceSerial(u32::MAX);

/// A digest of a record's content: equal content has equal digests.
type Digest = u64;

/// Everything that the file has defined so far.
#[derive(Default)]
pub(super) struct Defined {
    pub(super) writer: WriterKind,
    strings: HashMap<StringId, Digest>,
    frames: HashMap<FrameId, Digest>,
    traces: HashMap<TraceSerial, Digest>,
    classes: HashMap<ClassSerial, Spanned>,
    /// Classes by their current objects, and vice versa.
    class_objects: HashMap<ObjectId, ClassSerial>,
    objects_of_classes: HashMap<ClassSerial, ObjectId>,
    threads: HashMap<ThreadSerial, Spanned>,
}

/// A class or a thread, which may be named even after its end.
struct Spanned {
    digest: Digest,
    /// Loaded and not unloaded, or started and not ended.
    live: bool,
}

impl Defined {
    /// Verifies a record against the definitions so far, then adds its own.
    pub(super) fn add(
        &mut self,
        offset: u64,
        record: &Record<'_>,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        let subject = Subject::of(record);
        self.verify_named(offset, subject, record, tolerance)?;
        match self.define(offset, record, tolerance)? {
            Definition::None | Definition::New => Ok(()),
            Definition::Repeated if tolerance.allows(Warning::Repeated, offset) => Ok(()),
            Definition::Repeated => Err(Fault::Repeated { offset, subject }),
            Definition::Other => Err(Fault::Redefined { offset, subject }),
        }
    }

    /// Verifies that all that a record names is defined.
    fn verify_named(
        &self,
        offset: u64,
        subject: Subject,
        record: &Record<'_>,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        record.each_named(|named| {
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
        })
    }

    /// Adds what a record defines, or ends.
    fn define(
        &mut self,
        offset: u64,
        record: &Record<'_>,
        tolerance: &mut Tolerance,
    ) -> Result<Definition, Fault> {
        Ok(match *record {
            Record::String(StringRecord { id, ref text }) => {
                match define(&mut self.strings, id, text) {
                    // No record names a note: a second one under its id misleads nobody.
                    Definition::Other if id.is_note() => Definition::Repeated,
                    defined => defined,
                }
            }
            Record::LoadClass(ref class) => {
                self.class_moves(class.serial, class.class_object);
                span(&mut self.classes, class.serial, (class.trace, class.name))
            }
            Record::UnloadClass(UnloadClassRecord { serial }) => {
                self.unload_class(offset, serial, tolerance)?;
                Definition::None
            }
            Record::Frame(ref frame) => {
                let content = (
                    frame.method,
                    frame.signature,
                    frame.source_file,
                    frame.class,
                    frame.line,
                );
                define(&mut self.frames, frame.id, content)
            }
            Record::Trace(ref trace) => {
                let content = (trace.thread, &trace.frames);
                define(&mut self.traces, trace.serial, content)
            }
            Record::StartThread(ref thread) => {
                let names = (thread.name, thread.group, thread.parent_group);
                let content = (thread.object, thread.trace, names);
                span(&mut self.threads, thread.serial, content)
            }
            Record::EndThread(EndThreadRecord { serial }) => {
                self.end_thread(offset, serial, tolerance)?;
                Definition::None
            }
            Record::CpuSamples(ref samples) => {
                verify_total(offset, samples)?;
                Definition::None
            }
            _ => Definition::None,
        })
    }

    fn unload_class(
        &mut self,
        offset: u64,
        class: ClassSerial,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        let may_be_missing = self.writer != WriterKind::Agent;
        let was_loaded = end(&mut self.classes, class)
            || may_be_missing && tolerance.allows(Warning::ClassNotLoaded, offset);
        match was_loaded {
            true => Ok(()),
            false => Err(Fault::NotLoaded { offset, class }),
        }
    }

    fn end_thread(
        &mut self,
        offset: u64,
        thread: ThreadSerial,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        let unwritten = !self.threads.contains_key(&thread)
            && (self.writer == WriterKind::JdkAgent
                || tolerance.allows(Warning::ThreadNotStarted, offset));
        match unwritten || end(&mut self.threads, thread) {
            true => Ok(()),
            false => Err(Fault::NotRunning { offset, thread }),
        }
    }

    /// Records that a class has another object. Objects move: from one heap dump to the next, a class may have taken
    /// another's id.
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
                    || self.writer == WriterKind::JdkAgent && by == RecordKind::AllocSites
            }
            Named::Thread(serial) => {
                self.threads.contains_key(&serial)
                    || !serial.is_started()
                    || self.writer == WriterKind::HeapDumper
            }
            Named::Trace(serial) => {
                self.traces.contains_key(&serial)
                    || self.writer != WriterKind::Agent
                        && matches!(by, RecordKind::LoadClass | RecordKind::StartThread)
            }
        }
    }

    /// Returns whether a record of a heap dump may name this.
    pub(super) fn has_for_heap(&self, named: Named, by: HeapKind) -> bool {
        match named {
            Named::String(id) => self.strings.contains_key(&id),
            Named::Trace(serial) => {
                self.traces.contains_key(&serial)
                    || self.writer == WriterKind::HeapDumper
                        && by == HeapKind::RootThread
                        && serial == NO_TRACE
            }
            Named::Thread(serial) => {
                self.threads.contains_key(&serial)
                    || !serial.is_started()
                    || self.writer == WriterKind::HeapDumper
            }
            Named::Class(_) | Named::Frame(_) => unreachable!("{by} names neither"),
        }
    }

    /// Returns `true` if a class with this object was loaded.
    pub(super) fn is_class(&self, object: ObjectId) -> bool {
        self.class_objects.contains_key(&object)
    }
}

/// The effect of a record on the ids of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Definition {
    /// It defines no id.
    None,
    /// Its id is new.
    New,
    /// Its id was already defined with the same content.
    Repeated,
    /// Its id was already defined with different content.
    Other,
}

/// Defines `id`, unless it is defined already.
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

/// Ends the life of `id`; returns `true` if it was alive.
fn end<Id: Eq + Hash>(ids: &mut HashMap<Id, Spanned>, id: Id) -> bool {
    ids.get_mut(&id)
        .is_some_and(|spanned| std::mem::replace(&mut spanned.live, false))
}
/// Verifies that the rows of CPU samples have no more samples than their total.
fn verify_total(offset: u64, samples: &CpuSamplesRecord<'_>) -> Result<(), Fault> {
    let rows = samples.rows.iter().map(|row| u64::from(row.count)).sum();
    let total = samples.total;
    // A total at the field's limit may have been larger.
    match rows > u64::from(total) && total < u32::MAX {
        true => Err(Fault::CpuTotal {
            offset,
            total,
            rows,
        }),
        false => Ok(()),
    }
}
