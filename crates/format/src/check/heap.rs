//! Verifies heap dumps: that everything their records refer to is there.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use foldhash::HashSet;

use super::WriterKind;
use super::defined::Defined;
use super::ids::Ids;
use super::warnings::{Tolerance, Warning};
use crate::bytes::read_id_be;
use crate::fault::{Fault, HeapFault};
use crate::heap::{ClassDump, HeapRecord, Root, Value};
use crate::heap_layout::{ClassIndex, DumpedClasses, each_name};
use crate::id_size::IdSize;
use crate::kind::HeapKind;
use crate::printable::printable;
use crate::reader::{HeapItem, Item, Reader, Version};
use crate::record::Named;
use crate::record::RecordKind;
use crate::record::{ObjectId, ThreadSerial, TraceSerial};

/// The state of the heap dumps while they are read.
#[derive(Debug, Default)]
pub(super) struct HeapDumps {
    /// The dump whose segments are being read.
    open: Option<CheckedDump>,
    /// The offset at which a missing dump was announced.
    announced: Option<u64>,
    /// The number of complete dumps.
    pub(super) complete: u64,
    /// The number of their records of each kind.
    pub(super) records: BTreeMap<HeapKind, u64>,
}

impl HeapDumps {
    /// Verifies the heap dump, or segment of one, whose header the reader has just read at `offset`.
    pub(super) fn read<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        offset: u64,
        kind: RecordKind,
        defined: &Defined,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        if kind == RecordKind::HeapDump {
            self.ended()?;
        }
        let strict = tolerance.strict;
        let dump = self
            .open
            .get_or_insert_with(|| CheckedDump::new(reader, offset, strict));
        let mut counts = [0; 256];
        dump.read(reader, defined, |kind| counts[usize::from(kind.tag())] += 1)?;
        for kind in HeapKind::ALL {
            let count = counts[usize::from(kind.tag())];
            if count > 0 {
                *self.records.entry(*kind).or_default() += count;
            }
        }
        match kind {
            RecordKind::HeapDump => self.end(reader, defined, tolerance),
            _ => Ok(()),
        }
    }

    /// Notes whether the settings at `offset` announce a dump.
    pub(super) fn announce(&mut self, offset: u64, follows: bool) {
        self.announced = follows.then(|| self.announced.unwrap_or(offset));
    }

    /// Ends a dump: the segments so far must be a complete one.
    pub(super) fn end<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        defined: &Defined,
        tolerance: &mut Tolerance,
    ) -> Result<(), Fault> {
        self.announced = None;
        let Some(mut dump) = self.open.take() else {
            return Ok(());
        };
        self.complete += 1;
        let is_androids = reader.header().version == Version::V1_0_3;
        let is_ours = defined.writer == WriterKind::Agent;
        let verified = dump.classes.verify(|offset| {
            is_androids || !is_ours && dump.tolerance.allows(Warning::InstanceSize, offset)
        });
        verified.map_err(|(offset, class, fault)| {
            Fault::heap(offset, HeapKind::Class, Some(class), fault)
        })?;
        if dump.postponed || !dump.ids.is_closed() {
            dump.read_again(reader, defined)?;
        }
        tolerance.merge(dump.tolerance);
        Ok(())
    }

    /// Returns the fault of the dump that broke off, according to the record at `offset`.
    pub(super) fn broke_off(&self, offset: u64, reason: &[u8]) -> Fault {
        Fault::DumpBrokeOff {
            start: self.open.as_ref().map(|dump| dump.start),
            offset,
            reason: printable(reason).into_owned(),
        }
    }

    /// Verifies that no dump is incomplete.
    fn ended(&self) -> Result<(), Fault> {
        match self.open {
            Some(CheckedDump { start, .. }) => Err(Fault::DumpNotEnded { offset: start }),
            None => Ok(()),
        }
    }

    /// Verifies that the file may end here.
    pub(super) fn file_ended(&self) -> Result<(), Fault> {
        self.ended()?;
        match self.announced {
            Some(offset) => Err(Fault::DumpMissing { offset }),
            None => Ok(()),
        }
    }
}

/// The purpose of reading a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckPass {
    /// Ids are collected. Questions that cannot be decided yet are left to the second pass.
    First,
    /// All ids and classes are known. Needed only for a dump that has a fault, or instances before their classes.
    Second,
}

/// One heap dump.
#[derive(Debug)]
struct CheckedDump {
    /// The offset of its first record.
    start: u64,
    id_size: IdSize,
    pass: CheckPass,
    ids: Ids,
    classes: DumpedClasses,
    /// `true` if something is left to the second pass.
    postponed: bool,
    /// In a dump of the VM's own dumper, the objects that global references of native code hold. HotSpot keeps the
    /// objects of its class data archive in one such array; it dumps the array, but not the class objects in it whose
    /// classes have not been loaded.
    held: HashSet<ObjectId>,
    /// The trace that was looked up last.
    trace: Option<TraceSerial>,
    /// The long object whose pieces come next.
    long: Option<Long>,
    /// The deviations that are accepted in it.
    tolerance: Tolerance,
}

/// An object whose content comes in pieces.
#[derive(Debug)]
struct Long {
    /// The offset of its record.
    offset: u64,
    object: ObjectId,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Nothing to check.
    Plain,
    /// References.
    Elements,
    /// An instance's fields, as many bytes as its class states.
    Fields(ClassIndex, Vec<u8>),
}

impl CheckedDump {
    fn new<R: Read>(reader: &Reader<R>, start: u64, strict: bool) -> CheckedDump {
        CheckedDump {
            start,
            id_size: reader.header().id_size,
            pass: CheckPass::First,
            ids: Ids::default(),
            classes: DumpedClasses::default(),
            postponed: false,
            held: HashSet::default(),
            trace: None,
            long: None,
            tolerance: Tolerance::new(strict),
        }
    }

    /// Verifies the rest of the dump's record that `reader` is in.
    fn read<R: Read>(
        &mut self,
        reader: &mut Reader<R>,
        defined: &Defined,
        mut count: impl FnMut(HeapKind),
    ) -> Result<(), Fault> {
        while let Some(entry) = reader.read_heap()? {
            let offset = entry.offset;
            match entry.item {
                HeapItem::Record(ref record) => {
                    count(record.kind());
                    self.record(offset, record, None, defined)
                        .map_err(|fault| fault_of(offset, record, fault))?;
                }
                HeapItem::Head { ref record, length } => {
                    count(record.kind());
                    self.record(offset, record, Some(length), defined)
                        .map_err(|fault| fault_of(offset, record, fault))?;
                }
                HeapItem::Piece { bytes, last } => self.piece(bytes, last)?,
            }
        }
        Ok(())
    }

    /// Goes through the dump once more, up to the current position of `reader`.
    fn read_again<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        defined: &Defined,
    ) -> Result<(), Fault> {
        self.pass = CheckPass::Second;
        let end = reader.position();
        reader.seek(self.start)?;
        while reader.position() < end {
            let Some(entry) = reader.read()? else { break };
            if matches!(entry.item, Item::HeapDump { .. }) {
                self.read(reader, defined, |_| {})?;
            }
        }
        Ok(())
    }

    /// Verifies a record. A long one has no content here, but states how many bytes follow.
    fn record(
        &mut self,
        offset: u64,
        record: &HeapRecord<'_>,
        long: Option<u64>,
        defined: &Defined,
    ) -> Result<(), HeapFault> {
        let mut content = Content::Plain;
        let object = match *record {
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            } => {
                self.object(offset, object, trace, record.kind(), defined)?;
                content = self.instance(class, fields, long)?;
                object
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
            } => {
                self.object(offset, object, trace, record.kind(), defined)?;
                if self.classes.find(class).is_none() {
                    self.postpone(HeapFault::NoClass {
                        role: "class",
                        class,
                    })?;
                }
                // If roots come last, the second pass finds it here.
                if !self.held.contains(&object) {
                    self.elements(offset, elements)?;
                    content = Content::Elements;
                }
                object
            }
            HeapRecord::PrimitiveArray { object, trace, .. }
            | HeapRecord::PrimitiveArrayWithoutData { object, trace, .. } => {
                self.object(offset, object, trace, record.kind(), defined)?;
                object
            }
            HeapRecord::Class(ref class) => {
                self.class(offset, class, defined)?;
                class.class
            }
            HeapRecord::Root { object, root } => {
                self.root(offset, object, root, defined)?;
                object
            }
            HeapRecord::HeapInfo { name, .. } => {
                self.named(offset, Named::String(name), HeapKind::HeapInfo, defined)?;
                ObjectId(0)
            }
        };
        self.long = long.map(|_| Long {
            offset,
            object,
            content,
        });
        Ok(())
    }

    /// Verifies the properties common to all objects. `kind` is the kind of the record.
    #[inline]
    fn object(
        &mut self,
        offset: u64,
        object: ObjectId,
        trace: TraceSerial,
        kind: HeapKind,
        defined: &Defined,
    ) -> Result<(), HeapFault> {
        if self.pass == CheckPass::Second {
            return Ok(());
        }
        if !self.ids.define(object.0) {
            return Err(HeapFault::Duplicate);
        }
        if self.trace != Some(trace) {
            self.named(offset, Named::Trace(trace), kind, defined)?;
            self.trace = Some(trace);
        }
        Ok(())
    }

    fn instance(
        &mut self,
        class: ObjectId,
        fields: &[u8],
        long: Option<u64>,
    ) -> Result<Content, HeapFault> {
        let Some(index) = self.classes.find(class) else {
            self.postpone(HeapFault::NoClass {
                role: "class",
                class,
            })?;
            return Ok(Content::Plain);
        };
        let Some(size) = self.classes.size(index) else {
            // A superclass is missing so far; if it stays missing, the class has the fault.
            self.postponed = true;
            return Ok(Content::Plain);
        };
        let bytes = long.unwrap_or(fields.len() as u64);
        if size != bytes {
            return Err(HeapFault::InstanceSize { bytes, class, size });
        }
        if long.is_some() {
            return Ok(Content::Fields(index, Vec::new()));
        }
        self.fields(index, fields)?;
        Ok(Content::Plain)
    }

    #[inline]
    fn fields(&mut self, class: ClassIndex, fields: &[u8]) -> Result<(), HeapFault> {
        for declared in self.classes.chain(class) {
            let fields = &fields[declared.base..];
            for &place in declared.references {
                let id = read_id_be(fields, place as usize, self.id_size);
                refer(&mut self.ids, self.pass, "field", id)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn elements(&mut self, offset: u64, elements: &[u8]) -> Result<(), HeapFault> {
        let id_size = self.id_size;
        for id in elements.chunks_exact(id_size.width()) {
            if let Err(fault) = refer(
                &mut self.ids,
                self.pass,
                "element",
                read_id_be(id, 0, id_size),
            ) && !self.tolerance.allows(Warning::ElementNotDumped, offset)
            {
                return Err(fault);
            }
        }
        Ok(())
    }

    fn piece(&mut self, bytes: &[u8], last: bool) -> Result<(), Fault> {
        let Some(mut long) = self.long.take() else {
            return Ok(());
        };
        let (kind, result) = match long.content {
            Content::Plain => return Ok(()),
            Content::Elements => (HeapKind::ObjectArray, self.elements(long.offset, bytes)),
            Content::Fields(class, ref mut fields) => {
                fields.extend_from_slice(bytes);
                let result = if last {
                    self.fields(class, fields)
                } else {
                    Ok(())
                };
                (HeapKind::Instance, result)
            }
        };
        result.map_err(|fault| Fault::heap(long.offset, kind, Some(long.object), fault))?;
        if !last {
            self.long = Some(long);
        }
        Ok(())
    }

    fn class(
        &mut self,
        offset: u64,
        class: &ClassDump<'_>,
        defined: &Defined,
    ) -> Result<(), HeapFault> {
        self.object(offset, class.class, class.trace, HeapKind::Class, defined)?;
        for (role, id) in [
            ("superclass", class.super_class),
            ("class loader", class.loader),
            ("signers", class.signers),
            ("protection domain", class.protection_domain),
        ] {
            refer(&mut self.ids, self.pass, role, id.0)?;
        }
        let statics = class.statics.iter().map(|&(_, value)| ("static", value));
        let constants = class.constants.iter();
        let constants = constants.map(|&(_, value)| ("constant", value));
        for (role, value) in statics.chain(constants) {
            if let Value::Object(id) = value {
                refer(&mut self.ids, self.pass, role, id.0)?;
            }
        }
        if self.pass == CheckPass::Second {
            return Ok(());
        }
        each_name(class, |name| {
            self.named(offset, Named::String(name), HeapKind::Class, defined)
        })?;
        if !defined.is_class(class.class) {
            return Err(HeapFault::NotLoaded);
        }
        self.classes.add(offset, class, self.id_size);
        Ok(())
    }

    fn root(
        &mut self,
        offset: u64,
        object: ObjectId,
        root: Root,
        defined: &Defined,
    ) -> Result<(), HeapFault> {
        let mut thread =
            |thread: ThreadSerial| self.named(offset, Named::Thread(thread), root.kind(), defined);
        match root {
            Root::JniLocal { thread: serial, .. }
            | Root::JavaFrame { thread: serial, .. }
            | Root::NativeStack { thread: serial }
            | Root::ThreadBlock { thread: serial }
            | Root::JniMonitor { thread: serial, .. } => thread(serial)?,
            Root::Thread {
                thread: serial,
                trace,
            } => {
                thread(serial)?;
                self.named(offset, Named::Trace(trace), root.kind(), defined)?;
            }
            Root::JniGlobal { .. } if defined.writer == WriterKind::HeapDumper => {
                self.held.insert(object);
            }
            _ => {}
        }
        let referred = refer(&mut self.ids, self.pass, "object", object.0);
        let is_global = matches!(root, Root::JniGlobal { .. });
        match referred {
            Err(HeapFault::Dangling { .. })
                if is_global
                    && defined.writer == WriterKind::HeapDumper
                    && self.tolerance.allows(Warning::GlobalNotDumped, offset) =>
            {
                Ok(())
            }
            referred => referred,
        }
    }

    fn named(
        &mut self,
        offset: u64,
        named: Named,
        by: HeapKind,
        defined: &Defined,
    ) -> Result<(), HeapFault> {
        if self.pass == CheckPass::Second || defined.has_for_heap(named, by) {
            return Ok(());
        }
        if matches!(named, Named::Thread(_))
            && self.tolerance.allows(Warning::ThreadNotStarted, offset)
        {
            return Ok(());
        }
        Err(HeapFault::Undefined(named))
    }

    /// Leaves a possible fault to the second pass, which can decide.
    fn postpone(&mut self, fault: HeapFault) -> Result<(), HeapFault> {
        self.postponed = true;
        match self.pass {
            CheckPass::First => Ok(()),
            CheckPass::Second => Err(fault),
        }
    }
}

/// Notes a reference to `id` in this `role`.
#[inline]
fn refer(ids: &mut Ids, pass: CheckPass, role: &'static str, id: u64) -> Result<(), HeapFault> {
    if id == 0 {
        return Ok(());
    }
    match pass {
        CheckPass::First => ids.refer(id),
        CheckPass::Second if ids.is_dumped(id) => {}
        CheckPass::Second => {
            return Err(HeapFault::Dangling {
                role,
                object: ObjectId(id),
            });
        }
    }
    Ok(())
}

fn fault_of(offset: u64, record: &HeapRecord<'_>, fault: HeapFault) -> Fault {
    let object = match *record {
        HeapRecord::Root { object, .. }
        | HeapRecord::Instance { object, .. }
        | HeapRecord::ObjectArray { object, .. }
        | HeapRecord::PrimitiveArray { object, .. }
        | HeapRecord::PrimitiveArrayWithoutData { object, .. } => Some(object),
        HeapRecord::Class(ref class) => Some(class.class),
        HeapRecord::HeapInfo { .. } => None,
    };
    Fault::heap(offset, record.kind(), object, fault)
}
