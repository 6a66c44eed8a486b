//! Heap dumps as text.

use std::io::{self, Write};
use std::sync::Arc;

use foldhash::HashMap;

use super::TextEncoder;
use super::digits::{put_decimal, put_hex};
use crate::bytes::read_id_be;
use crate::ctime::ctime;
use crate::encode::Micros;
use crate::heap::{ClassDump, HeapRecord, HeapRecords, Root, Value};
use crate::heap_layout::{
    ClassIndex, DumpedClasses, HeapTotals, ObjectLayout, array_size, class_of, instance_size,
};
use crate::id_size::IdSize;
use crate::names::{ResolvedName, UNKNOWN_NAME};
use crate::printable::printable;
use crate::reader::HeapItem;
use crate::record::{BasicType, HeapSummaryRecord, Record};
use crate::record::{ClassSerial, ObjectId, TraceSerial};
use crate::section::{NoteMeaning, Section};

/// The trace without frames, used for global references of native code, which have no trace in the binary format.
const NO_TRACE: u64 = 300_000;

/// The encoder's state for heap dumps.
#[derive(Debug, Default)]
pub(super) struct HeapText {
    /// Classes by their current objects.
    loaded: HashMap<ObjectId, ClassSerial>,
    /// The reverse map.
    objects: HashMap<ClassSerial, ObjectId>,
    /// The totals of a HEAP SUMMARY directly before the dump's first record.
    totals: Option<HeapTotals>,
    /// The layout noted before the dump's first record.
    layout: Option<ObjectLayout>,
    /// The dump whose records are being written.
    open: Option<DumpText>,
}

/// One heap dump.
#[derive(Debug)]
struct DumpText {
    layout: ObjectLayout,
    classes: DumpedClasses,
    /// For each class, the name of each reference that it declares.
    labels: Vec<Box<[ResolvedName<Arc<str>>]>>,
    /// For each class, its name.
    names: Vec<ResolvedName<Arc<str>>>,
    /// The long object whose pieces come next.
    long: Option<Long>,
}

/// An object whose content comes in pieces.
#[derive(Debug)]
enum Long {
    /// An array of references, and the index of the next one.
    Elements(u64),
    /// An instance, and its fields so far, as many bytes as its class states.
    Fields(ClassIndex, Vec<u8>),
}

impl HeapText {
    /// Notes that a class is loaded, or that its object has moved.
    pub(super) fn load(&mut self, class: ClassSerial, object: ObjectId) {
        if let Some(from) = self.objects.insert(class, object)
            && self.loaded.get(&from) == Some(&class)
        {
            self.loaded.remove(&from);
        }
        self.loaded.insert(object, class);
    }

    /// Notes the totals directly before a dump.
    pub(super) fn note(&mut self, record: &Record<'_>) {
        match *record {
            Record::HeapSummary(HeapSummaryRecord {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            }) => {
                // The first two are limited to 32 bits in the binary format. Before a dump, all objects are alive.
                let fitting = |live, all| match live {
                    0..0xFFFF_FFFF => live,
                    _ => all,
                };
                self.totals = Some(HeapTotals {
                    objects: fitting(live_instances, allocated_instances),
                    bytes: fitting(live_bytes, allocated_bytes),
                });
            }
            Record::AllocSites(_) => self.totals = None,
            _ => {}
        }
    }
}

/// The text of heap dumps. The agent's records come whole, as [`Record::HeapDumpSegment`]; those of a file come one by
/// one.
impl TextEncoder {
    /// Returns `true` if the next heap dump's totals are known, because a HEAP SUMMARY precedes it. Without one, and
    /// without [`TextEncoder::heap_totals`], they are printed as 0.
    #[must_use]
    pub fn has_heap_totals(&self) -> bool {
        self.heap.open.is_some() || self.heap.totals.is_some()
    }

    /// Returns the layout of the objects in the next heap dump: that noted before it, or else the usual one.
    #[must_use]
    pub fn heap_layout(&self) -> ObjectLayout {
        self.heap.layout.unwrap_or(ObjectLayout::USUAL)
    }

    /// Takes a note, which may be about the layout of the next heap dump.
    pub(super) fn heap_note(&mut self, section: &Section<'_>) {
        if let Section::Note(note) = section
            && let NoteMeaning::Layout(layout) = note.meaning
        {
            self.heap.layout = Some(layout);
        }
    }

    /// Sets the totals of the next heap dump.
    pub fn heap_totals(&mut self, totals: HeapTotals) {
        self.heap.totals = Some(totals);
    }

    /// Begins a heap dump, or continues one: a heap dump's record, or one of its segments, comes next.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn heap_segment(&mut self, time: Micros, out: &mut impl Write) -> io::Result<()> {
        if self.heap.open.is_some() {
            return Ok(());
        }
        self.heap.open = Some(DumpText {
            layout: self.heap_layout(),
            classes: DumpedClasses::default(),
            labels: Vec::new(),
            names: Vec::new(),
            long: None,
        });
        self.heap.layout = None;
        let HeapTotals { objects, bytes } = self.heap.totals.take().unwrap_or_default();
        let date = ctime(self.start, time);
        writeln!(
            out,
            "HEAP DUMP BEGIN ({objects} objects, {bytes} bytes) {date}"
        )
    }

    /// Writes a record of the heap dump, or a piece of one, from a file with ids of `id_size`.
    ///
    /// # Errors
    /// Those of `out`. The rest of the dump is then not printed.
    pub fn heap_item(
        &mut self,
        id_size: IdSize,
        item: &HeapItem<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        // The dump is taken out so that names can be looked up in the meantime.
        let Some(mut dump) = self.heap.open.take() else {
            return Ok(());
        };
        let mut printer = Printer {
            names: self,
            id_size,
            out,
        };
        match *item {
            HeapItem::Record(ref record) => {
                printer.record(&mut dump, record, None)?;
                dump.long = None;
            }
            HeapItem::Head { ref record, length } => {
                dump.long = printer.record(&mut dump, record, Some(length))?;
            }
            HeapItem::Piece { bytes, last } => printer.piece(&mut dump, bytes, last)?,
        }
        self.heap.open = Some(dump);
        Ok(())
    }

    /// Ends the heap dump.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn heap_end(&mut self, out: &mut impl Write) -> io::Result<()> {
        match self.heap.open.take() {
            Some(_) => out.write_all(b"HEAP DUMP END\n"),
            None => Ok(()),
        }
    }

    /// Ends a heap dump that is incomplete.
    pub(super) fn heap_broke_off(&mut self, reason: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.heap.open = None;
        writeln!(out, "HEAP DUMP BROKE OFF ({})", printable(reason))
    }

    /// Writes the records of a segment from the agent.
    pub(super) fn heap_content(
        &mut self,
        time: Micros,
        content: &[u8],
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.heap_segment(time, out)?;
        for record in HeapRecords::new(content, IdSize::Eight) {
            // Content that the agent would not write ends here; there is no better way to handle it.
            let Ok(record) = record.and_then(|record| record.decode()) else {
                break;
            };
            self.heap_item(IdSize::Eight, &HeapItem::Record(record), out)?;
        }
        Ok(())
    }

    /// Returns the name of the class with this object.
    fn name_of(&self, class: ObjectId) -> ResolvedName<&Arc<str>> {
        match self.heap.loaded.get(&class) {
            Some(&class) => self.names.class(class),
            None => ResolvedName::Missing(UNKNOWN_NAME),
        }
    }
}

/// Prints records.
struct Printer<'a, W> {
    names: &'a TextEncoder,
    id_size: IdSize,
    out: &'a mut W,
}

impl<W: Write> Printer<'_, W> {
    /// Prints a record. For a long one, which has `length` bytes of content, returns the state for its pieces.
    fn record(
        &mut self,
        dump: &mut DumpText,
        record: &HeapRecord<'_>,
        length: Option<u64>,
    ) -> io::Result<Option<Long>> {
        let content = |bytes: &[u8]| length.unwrap_or(bytes.len() as u64);
        match *record {
            HeapRecord::Root { object, root } => self.root(object, root)?,
            HeapRecord::Class(ref class) => self.class(dump, class)?,
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            } => {
                let content = content(fields);
                let index = class_of(&mut dump.classes, class, content);
                let references = index.map_or(0, |index| dump.classes.references(index));
                let size = instance_size(&dump.layout, content, references, self.id_size);
                self.object(b"OBJ ", object, size, trace)?;
                self.put(b", class=")?;
                self.end_with(dump, class)?;
                if length.is_some() {
                    return Ok(index.map(|index| Long::Fields(index, Vec::new())));
                }
                if let Some(index) = index {
                    self.fields(dump, index, fields)?;
                }
            }
            HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements,
            } => {
                let count = content(elements) / self.id_size.bytes();
                let size = array_size(&dump.layout, BasicType::Object, count);
                self.array(object, size, trace, count)?;
                self.end_with(dump, class)?;
                self.elements(elements, 0)?;
                return Ok(Some(Long::Elements(0)));
            }
            HeapRecord::PrimitiveArray {
                object,
                trace,
                element,
                elements,
            } => {
                let count = content(elements) / element.size(8) as u64;
                let size = array_size(&dump.layout, element, count);
                self.array(object, size, trace, count)?;
                self.end_primitive_array(element)?;
            }
            HeapRecord::PrimitiveArrayWithoutData {
                object,
                trace,
                element,
                length,
            } => {
                let size = array_size(&dump.layout, element, length.into());
                self.array(object, size, trace, length.into())?;
                self.end_primitive_array(element)?;
            }
            HeapRecord::HeapInfo { .. } => {}
        }
        Ok(None)
    }

    fn piece(&mut self, dump: &mut DumpText, bytes: &[u8], last: bool) -> io::Result<()> {
        let long = match dump.long.take() {
            Some(Long::Elements(next)) => {
                self.elements(bytes, next)?;
                Long::Elements(next + bytes.len() as u64 / self.id_size.bytes())
            }
            Some(Long::Fields(class, mut fields)) => {
                fields.extend_from_slice(bytes);
                if last {
                    self.fields(dump, class, &fields)?;
                }
                Long::Fields(class, fields)
            }
            None => return Ok(()),
        };
        dump.long = Some(long).filter(|_| !last);
        Ok(())
    }

    fn root(&mut self, object: ObjectId, root: Root) -> io::Result<()> {
        self.put(b"ROOT ")?;
        self.hex(object.0)?;
        self.put(b" (kind=<")?;
        let kind: &[u8] = match root {
            Root::Unknown => b"unknown",
            Root::JniGlobal { .. } => b"JNI global ref",
            Root::JniLocal { .. } => b"JNI local ref",
            Root::JavaFrame { .. } => b"Java stack",
            Root::NativeStack { .. } => b"native stack",
            Root::StickyClass => b"system class",
            Root::ThreadBlock { .. } => b"thread block",
            Root::MonitorUsed => b"busy monitor",
            Root::Thread { .. } => b"thread",
            Root::InternedString => b"interned string",
            Root::Finalizing => b"finalizing",
            Root::Debugger => b"debugger",
            Root::ReferenceCleanup => b"reference cleanup",
            Root::VmInternal => b"VM internal",
            Root::JniMonitor { .. } => b"JNI monitor",
            Root::Unreachable => b"unreachable",
        };
        self.put(kind)?;
        self.put(b">")?;
        match root {
            Root::JniGlobal { reference } => {
                self.put(b", id=")?;
                self.hex(reference)?;
                self.number(b", trace=", NO_TRACE)?;
            }
            Root::JniLocal { thread, frame }
            | Root::JavaFrame { thread, frame }
            | Root::JniMonitor { thread, frame } => {
                self.number(b", thread=", thread.0.into())?;
                // -1 means that there is no frame.
                self.put(if frame < 0 { b", frame=-" } else { b", frame=" })?;
                put_decimal(self.out, frame.unsigned_abs().into())?;
            }
            Root::NativeStack { thread } | Root::ThreadBlock { thread } => {
                self.number(b", thread=", thread.0.into())?;
            }
            Root::StickyClass => {
                self.put(b", name=")?;
                self.name(object)?;
            }
            Root::Thread { thread, trace } => {
                self.number(b", id=", thread.0.into())?;
                self.number(b", trace=", trace.0.into())?;
            }
            _ => {}
        }
        self.put(b")\n")
    }

    fn class(&mut self, dump: &mut DumpText, class: &ClassDump<'_>) -> io::Result<()> {
        self.put(b"CLS ")?;
        self.hex(class.class.0)?;
        self.put(b" (name=")?;
        self.name(class.class)?;
        self.number(b", trace=", class.trace.0.into())?;
        self.put(b")\n")?;
        for (label, object) in [
            (&b"\tsuper\t\t"[..], class.super_class),
            (b"\tloader\t\t", class.loader),
            (b"\tsigners\t\t", class.signers),
            (b"\tdomain\t\t", class.protection_domain),
        ] {
            self.reference(&[label], object.0)?;
        }
        for &(name, value) in class.statics.iter() {
            if let Value::Object(object) = value {
                let name = self.names.string(name);
                self.reference(&[b"\tstatic ", name.as_bytes(), b"\t"], object.0)?;
            }
        }
        for &(index, value) in class.constants.iter() {
            if let Value::Object(object) = value {
                let label = format!("\tconstant pool entry {index}\t");
                self.reference(&[label.as_bytes()], object.0)?;
            }
        }
        dump.classes.add(0, class, self.id_size);
        let references = class.fields.iter();
        let references = references.filter(|(_, kind)| *kind == BasicType::Object);
        let labels = references.map(|&(name, _)| self.names.names.string(name).cloned());
        dump.labels.push(labels.collect());
        dump.names.push(self.names.name_of(class.class).cloned());
        Ok(())
    }

    fn fields(&mut self, dump: &DumpText, class: ClassIndex, fields: &[u8]) -> io::Result<()> {
        for declared in dump.classes.chain(class) {
            let fields = &fields[declared.base..];
            let labels = &dump.labels[declared.class.number()];
            for (&place, label) in declared.references.iter().zip(labels) {
                let name = label.as_str().as_bytes();
                let tabs = if name.len() < 8 { &b"\t\t"[..] } else { b"\t" };
                let object = read_id_be(fields, place as usize, self.id_size);
                self.reference(&[b"\t", name, tabs], object)?;
            }
        }
        Ok(())
    }

    fn elements(&mut self, elements: &[u8], first: u64) -> io::Result<()> {
        let ids = elements.chunks_exact(self.id_size.width());
        for (index, id) in (first..).zip(ids) {
            let id = read_id_be(id, 0, self.id_size);
            if id != 0 {
                self.number(b"\t[", index)?;
                self.reference(&[b"]\t\t"], id)?;
            }
        }
        Ok(())
    }

    fn end_primitive_array(&mut self, element: BasicType) -> io::Result<()> {
        self.put(element.java_name().as_bytes())?;
        self.put(b"[])\n")
    }

    fn array(
        &mut self,
        object: ObjectId,
        size: u64,
        trace: TraceSerial,
        count: u64,
    ) -> io::Result<()> {
        self.object(b"ARR ", object, size, trace)?;
        self.number(b", nelems=", count)?;
        self.put(b", elem type=")
    }

    fn object(
        &mut self,
        kind: &[u8],
        object: ObjectId,
        size: u64,
        trace: TraceSerial,
    ) -> io::Result<()> {
        self.put(kind)?;
        self.hex(object.0)?;
        self.number(b" (sz=", size)?;
        self.number(b", trace=", trace.0.into())
    }

    /// Prints the class of an object, and ends its line.
    fn end_with(&mut self, dump: &mut DumpText, class: ObjectId) -> io::Result<()> {
        let name = match dump.classes.find(class) {
            Some(index) => dump.names[index.number()].as_str(),
            None => self.names.name_of(class).as_str(),
        };
        self.out.write_all(name.as_bytes())?;
        self.put(b"@")?;
        self.hex(class.0)?;
        self.put(b")\n")
    }

    /// Prints a line, unless the reference is null.
    #[inline]
    fn reference(&mut self, label: &[&[u8]], object: u64) -> io::Result<()> {
        if object == 0 {
            return Ok(());
        }
        label.iter().try_for_each(|part| self.put(part))?;
        self.hex(object)?;
        self.put(b"\n")
    }

    fn name(&mut self, class: ObjectId) -> io::Result<()> {
        let name = self.names.name_of(class).as_str();
        self.out.write_all(name.as_bytes())
    }

    #[inline]
    fn number(&mut self, label: &[u8], value: u64) -> io::Result<()> {
        self.put(label)?;
        put_decimal(self.out, value)
    }

    #[inline]
    fn hex(&mut self, value: u64) -> io::Result<()> {
        put_hex(self.out, value)
    }

    #[inline]
    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.write_all(text)
    }
}
