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
use crate::record::{
    CpuSamplesRecord, EndThreadRecord, FrameRecord, LoadClassRecord, Record, StartThreadRecord,
    StringRecord, TraceRecord, UnloadClassRecord,
};

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
        })?;
        let defined = match *record {
            Record::String(StringRecord { id, ref text }) => {
                match define(&mut self.strings, id, text) {
                    // No record names a note: a second one under its id misleads nobody.
                    Definition::Other if id.is_note() => Definition::Repeated,
                    defined => defined,
                }
            }
            Record::LoadClass(LoadClassRecord {
                serial,
                class_object,
                trace,
                name,
            }) => {
                self.class_moves(serial, class_object);
                span(&mut self.classes, serial, (trace, name))
            }
            Record::UnloadClass(UnloadClassRecord { serial }) => {
                let may_be_missing = self.writer != WriterKind::Agent;
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
            Record::Frame(FrameRecord {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            }) => {
                let content = (method, signature, source_file, class, line);
                define(&mut self.frames, id, content)
            }
            Record::Trace(TraceRecord {
                serial,
                thread,
                ref frames,
            }) => define(&mut self.traces, serial, (thread, frames)),
            Record::StartThread(StartThreadRecord {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            }) => span(
                &mut self.threads,
                serial,
                (object, trace, name, group, parent_group),
            ),
            Record::EndThread(EndThreadRecord { serial }) => {
                let unwritten = !self.threads.contains_key(&serial)
                    && (self.writer == WriterKind::JdkAgent
                        || tolerance.allows(Warning::ThreadNotStarted, offset));
                if !unwritten && !end(&mut self.threads, serial) {
                    return Err(Fault::NotRunning {
                        offset,
                        thread: serial,
                    });
                }
                Definition::None
            }
            Record::CpuSamples(CpuSamplesRecord { total, ref rows }) => {
                let sum = rows.iter().map(|row| u64::from(row.count)).sum();
                // A total at the field's limit may have been larger.
                if sum > u64::from(total) && total < u32::MAX {
                    return Err(Fault::CpuTotal {
                        offset,
                        total,
                        rows: sum,
                    });
                }
                Definition::None
            }
            _ => Definition::None,
        };
        match defined {
            Definition::None | Definition::New => Ok(()),
            Definition::Repeated if tolerance.allows(Warning::Repeated, offset) => Ok(()),
            Definition::Repeated => Err(Fault::Repeated { offset, subject }),
            Definition::Other => Err(Fault::Redefined { offset, subject }),
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
