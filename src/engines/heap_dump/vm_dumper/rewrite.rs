//! The second pass over the VM's dump: copies the records, replacing the VM's numbers by the agent's.

use hprof_format::{
    BasicType, ClassDump, HeapError, HeapKind, HeapRecord, HeapRecords, IdSize, ObjectId,
    TraceSerial,
};
use memory::{List, Map, OrStop, Set};

use super::class_dump;
use super::dangling::Dangling;
use super::first_pass::{FirstPass, NO_MIRROR};
use super::numbering::Numbering;
use super::object_numbers::ObjectNumbers;
use super::source::{DumpProgress, Visitor};
use crate::engines::heap_dump::{DumpError, DumpOutput};
use hprof_format::bytes::{read_u32_be, read_u64_be, write_u32_be};

/// The trace number of an object that is omitted.
pub(super) const LEFT_OUT: u32 = 0;

/// The offset of the serial number of an object's trace, and of the thread of a root.
const SERIAL: usize = 9;
/// The offset of the trace's serial number in a thread root.
const THREAD_TRACE: usize = 13;
/// The offsets of an instance's class and of its fields.
const INSTANCE_CLASS: usize = 13;
const INSTANCE_FIELDS: usize = 25;
/// The offset of the elements of an array of references.
const ELEMENTS: usize = 25;
/// The offsets of an array's length, and of the elements of a primitive array.
const LENGTH: usize = 13;
const PRIMITIVE_ELEMENTS: usize = 18;

/// Rewrites the VM's dump.
pub(super) struct DumpRewriter<'a> {
    pub(super) output: &'a mut dyn DumpOutput,
    pub(super) first_pass: &'a FirstPass,
    pub(super) numbering: Numbering,
    /// The traces of tracked objects.
    pub(super) traces: ObjectNumbers,
    /// The trace of objects whose allocation was not seen.
    pub(super) no_trace: u32,
    /// The number of a thread that is unknown.
    pub(super) no_thread: u32,
    /// The objects that are omitted; their traces are [`LEFT_OUT`].
    pub(super) left_out: Set<u64>,
    /// Arrays some of whose elements become null.
    pub(super) dangling: Dangling,
    pub(super) primitive_fields: bool,
    pub(super) primitive_arrays: bool,
    /// `true` once an object has been seen, and once the output has been told that all is named.
    pub(super) has_objects: bool,
    pub(super) all_is_named: bool,
    /// The strings that have been written.
    pub(super) names: Map<u64, u64>,
    /// The ranges of primitive values in the instances of a class.
    pub(super) primitives: Map<u64, Box<[(u32, u32)]>>,
}

/// The treatment of a record.
enum Fate {
    Kept,
    LeftOut,
    /// Only that many bytes of it are kept.
    Cut(usize),
}

impl Visitor for DumpRewriter<'_> {
    fn record(&mut self, _: u8, _: &[u8]) -> Result<(), DumpError> {
        Ok(())
    }

    fn heap(&mut self, block: &mut [u8], offset: u64) -> Result<DumpProgress, DumpError> {
        // Everything from `kept` to `at` is still to be written.
        let (mut at, mut kept) = (0, 0);
        loop {
            let (kind, length) = match HeapRecords::new(&block[at..], IdSize::Eight).next() {
                Some(Ok(record)) => (record.kind(), record.bytes().len()),
                Some(Err(HeapError::Incomplete { needed, .. })) if at == 0 => {
                    return Ok(DumpProgress::Needs(needed));
                }
                None | Some(Err(HeapError::Incomplete { .. })) => break,
                Some(Err(_)) => {
                    return Err(DumpError::Content {
                        offset: offset + at as u64,
                        what: "it is no record of a heap dump",
                    });
                }
            };
            let end = at + length;
            match self.rewrite(kind, &mut block[at..end]) {
                Fate::Kept => {}
                Fate::LeftOut => {
                    self.put(&block[kept..at])?;
                    kept = end;
                }
                Fate::Cut(length) => {
                    self.put(&block[kept..at + length])?;
                    kept = end;
                }
            }
            at = end;
        }
        self.put(&block[kept..at])?;
        if self.has_objects && !self.all_is_named {
            // The VM writes all classes before the first object.
            self.describe_the_rest()?;
            self.output.all_is_named();
            self.all_is_named = true;
        }
        Ok(DumpProgress::Done(at as u64))
    }
}

impl DumpRewriter<'_> {
    fn put(&mut self, records: &[u8]) -> Result<(), DumpError> {
        match records.is_empty() || self.output.records(records) {
            true => Ok(()),
            false => Err(DumpError::Output),
        }
    }

    /// Writes the classes that the VM omits. They are not linked, so they have no objects, and the VM does not know
    /// their fields.
    fn describe_the_rest(&mut self) -> Result<(), DumpError> {
        let mut written = Vec::new();
        for class in self.first_pass.undescribed() {
            let trace = self.traces.find_anywhere(class).unwrap_or(self.no_trace);
            let record = HeapRecord::Class(ClassDump {
                class: ObjectId(class),
                trace: TraceSerial(trace),
                ..ClassDump::default()
            });
            written.clear();
            record.write(&mut written);
            self.put(&written)?;
        }
        Ok(())
    }

    #[inline]
    fn rewrite(&mut self, kind: HeapKind, record: &mut [u8]) -> Fate {
        match kind {
            HeapKind::Instance => {
                if !self.put_trace(record) {
                    return Fate::LeftOut;
                }
                if !self.primitive_fields {
                    self.zero_fields(record);
                }
                Fate::Kept
            }
            HeapKind::PrimitiveArray => {
                if !self.put_trace(record) {
                    return Fate::LeftOut;
                }
                if self.primitive_arrays {
                    return Fate::Kept;
                }
                write_u32_be(record, LENGTH, 0);
                Fate::Cut(PRIMITIVE_ELEMENTS)
            }
            HeapKind::ObjectArray => {
                if !self.put_trace(record) {
                    return Fate::LeftOut;
                }
                self.dangling
                    .clear(read_u64_be(record, 1), &mut record[ELEMENTS..]);
                Fate::Kept
            }
            HeapKind::Class => {
                if read_u64_be(record, 1) == NO_MIRROR {
                    return Fate::LeftOut;
                }
                let trace = self.traces.find_anywhere(read_u64_be(record, 1));
                write_u32_be(record, SERIAL, trace.unwrap_or(self.no_trace));
                self.rewrite_class(record);
                Fate::Kept
            }
            _ => self.rewrite_root(kind, record),
        }
    }

    /// Replaces an object's trace; returns `false` if the object is omitted.
    #[inline]
    fn put_trace(&mut self, record: &mut [u8]) -> bool {
        self.has_objects = true;
        let trace = self
            .traces
            .find(read_u64_be(record, 1))
            .unwrap_or(self.no_trace);
        write_u32_be(record, SERIAL, trace);
        trace != LEFT_OUT
    }

    fn rewrite_class(&mut self, record: &mut [u8]) {
        let Self {
            output,
            first_pass,
            names,
            ..
        } = self;
        class_dump::rewrite(record, !self.primitive_fields, |name| {
            let number = || output.string(&first_pass.names.get(name)).0;
            *names.get_or_insert_with(name, number).or_stop()
        });
    }

    fn rewrite_root(&mut self, kind: HeapKind, record: &mut [u8]) -> Fate {
        let object = read_u64_be(record, 1);
        if object == NO_MIRROR || self.left_out.contains(&object) {
            return Fate::LeftOut;
        }
        let names_a_thread = matches!(
            kind,
            HeapKind::RootJniLocal
                | HeapKind::RootJavaFrame
                | HeapKind::RootNativeStack
                | HeapKind::RootThreadBlock
                | HeapKind::RootThread
        );
        if names_a_thread {
            let serial = self.numbering.threads.get(&read_u32_be(record, SERIAL));
            write_u32_be(record, SERIAL, serial.copied().unwrap_or(self.no_thread));
        }
        if kind == HeapKind::RootThread {
            let trace = self
                .numbering
                .traces
                .get(&read_u32_be(record, THREAD_TRACE));
            write_u32_be(
                record,
                THREAD_TRACE,
                trace.copied().unwrap_or(self.no_trace),
            );
        }
        Fate::Kept
    }

    fn zero_fields(&mut self, record: &mut [u8]) {
        let class = read_u64_be(record, INSTANCE_CLASS);
        let first_pass = self.first_pass;
        let ranges = self
            .primitives
            .get_or_insert_with(class, || primitive_ranges(first_pass, class))
            .or_stop();
        let fields = &mut record[INSTANCE_FIELDS..];
        for &(start, end) in ranges.iter() {
            if let Some(range) = fields.get_mut(start as usize..end as usize) {
                range.fill(0);
            }
        }
    }
}

/// Returns the ranges of primitive values in the instances of a class: fields of the class first, then those of its
/// superclass, and so on.
fn primitive_ranges(first_pass: &FirstPass, class: u64) -> Box<[(u32, u32)]> {
    let mut ranges = List::<(u32, u32)>::new();
    let mut at = 0;
    let mut next = first_pass.layouts.get(&class);
    while let Some(layout) = next {
        for &kind in &layout.fields {
            #[expect(clippy::cast_possible_truncation, reason = "a value has 1 to 8 bytes")]
            let size = kind.size(8) as u32;
            let end = at + size;
            match ranges.last_mut() {
                _ if kind == BasicType::Object => {}
                Some(last) if last.1 == at => last.1 = end,
                _ => ranges.push((at, end)).or_stop(),
            }
            at = end;
        }
        next = first_pass.layouts.get(&layout.super_class);
    }
    ranges.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use hprof_format::{ObjectBirth, ObjectLayout, Root, StringId};

    use super::super::first_pass::ListReference;
    use super::*;
    use names::class::ClassId;
    use names::thread::ThreadSerial;
    use names::trace::TraceId;

    /// Keeps the heap records.
    #[derive(Default)]
    struct Kept(Vec<u8>);

    impl DumpOutput for Kept {
        fn class(&mut self, _: ClassId, object: ObjectId) {
            panic!("no class has been loaded, and {object:?} is to be written");
        }

        fn string(&mut self, _: &str) -> StringId {
            StringId(1)
        }

        fn trace(&mut self, _: TraceId) -> TraceSerial {
            TraceSerial(1)
        }

        fn virtual_thread(&mut self, _: &str) -> ThreadSerial {
            ThreadSerial::UNKNOWN
        }

        fn layout(&mut self, _: ObjectLayout) {}

        fn totals(&mut self, _: u64, _: u64) {}

        fn all_is_named(&mut self) {}

        fn begin_again(&mut self) {
            self.0.clear();
        }

        fn births(&mut self, _: u32) {}

        fn born(&mut self, _: ObjectBirth) {}

        fn records(&mut self, content: &[u8]) -> bool {
            self.0.extend_from_slice(content);
            true
        }
    }

    #[test]
    fn a_class_without_an_object_is_omitted() {
        let class = |id| {
            HeapRecord::Class(ClassDump {
                class: ObjectId(id),
                trace: TraceSerial(1),
                ..ClassDump::default()
            })
        };
        let root = |id| HeapRecord::Root {
            object: ObjectId(id),
            root: Root::StickyClass,
        };
        let mut block = Vec::new();
        for record in [class(0), class(8), class(0), root(0), root(8), root(0)] {
            record.write(&mut block);
        }
        let mut first_pass = FirstPass::new(ListReference {
            reference: 1,
            lengths: [0; 2],
            primitive_arrays: true,
        });
        // LOAD CLASS: a serial number, the id, a trace, and the id of the name.
        let mut loaded = [0; 24];
        loaded[3] = 7;
        loaded[23] = 5;
        first_pass.record(0x02, &loaded).expect("a record");
        first_pass.heap(&mut block, 0).expect("records");
        assert!(first_pass.undescribed().is_empty());
        let mut kept = Kept::default();
        let numbering = Numbering::default();
        let mut rewriter = DumpRewriter {
            output: &mut kept,
            first_pass: &first_pass,
            numbering,
            traces: ObjectNumbers::new(List::new()),
            no_trace: 1,
            no_thread: 0,
            left_out: Set::default(),
            dangling: Dangling::default(),
            primitive_fields: true,
            primitive_arrays: true,
            has_objects: false,
            all_is_named: false,
            names: Map::default(),
            primitives: Map::default(),
        };
        let progress = rewriter.heap(&mut block, 0).expect("records");
        assert_eq!(progress, DumpProgress::Done(block.len() as u64));
        let mut expected = Vec::new();
        for record in [class(8), root(8)] {
            record.write(&mut expected);
        }
        assert_eq!(kept.0, expected);
    }
}
