//! The first pass over the VM's dump: collects everything that must be known before the first record is written.

use hprof_format::{
    BasicType, HeapCounter, HeapError, HeapItem, HeapKind, HeapRecord, HeapRecords, HeapTotals,
    IdSize, ObjectId, ObjectLayout, RawHeapRecord, TraceSerial,
};
use memory::{List, Map, OrStop, Set};

use super::blocks::{HeapBlock, has_content, id_of, look_up};
use super::class_dump;
use super::source::{DumpProgress, Source, Visitor};
use crate::engines::heap_dump::DumpError;
use hprof_format::bytes::{read_u32_be, read_u64_be};

/// The properties by which the list is found among the arrays.
#[derive(Clone, Copy)]
pub(super) struct ListReference {
    /// The JNI reference that refers to the outer array.
    pub(super) reference: u64,
    /// The length of the outer array, and of the arrays in it.
    pub(super) lengths: [u32; 2],
    /// `true` if primitive arrays will have their elements.
    pub(super) primitive_arrays: bool,
}

/// The contents of a dump.
pub(super) struct FirstPass {
    wanted: ListReference,
    pub(super) names: StringTexts,
    /// Classes by serial number.
    pub(super) classes: Map<u32, LoadedClass>,
    pub(super) frames: Map<u64, DumpedFrame>,
    /// The frame ids of traces, by serial number.
    pub(super) traces: Map<u32, List<u64>>,
    pub(super) threads: List<Thread>,
    /// The ids of classes that have a record in the dump.
    described: Set<u64>,
    /// By class id.
    pub(super) layouts: Map<u64, ClassLayout>,
    /// The object that the JNI reference refers to.
    pub(super) list: Option<u64>,
    /// The objects that JNI references refer to.
    pub(super) globals: List<u64>,
    pub(super) blocks: List<HeapBlock>,
    /// Arrays of `int`, which include the fillers of gaps in the heap.
    pub(super) ints: List<u64>,
    /// Arrays of references that may have to be read again.
    arrays: Map<u64, Array>,
    /// The lowest and the highest id of the objects in the current block.
    ids: (u64, u64),
    counter: HeapCounter,
}

/// A LOAD CLASS record.
pub(super) struct LoadedClass {
    pub(super) object: u64,
    pub(super) name: u64,
}

/// A FRAME record.
pub(super) struct DumpedFrame {
    pub(super) method: u64,
    pub(super) signature: u64,
    pub(super) source_file: u64,
    pub(super) class: u32,
    pub(super) line: i32,
}

/// A ROOT THREAD OBJECT.
pub(super) struct Thread {
    pub(super) object: u64,
    pub(super) serial: u32,
    pub(super) trace: u32,
}

/// The layout of an instance's fields.
pub(super) struct ClassLayout {
    pub(super) super_class: u64,
    /// The types of the fields that the class itself declares.
    pub(super) fields: List<BasicType>,
}

/// The position of an array's elements in the file.
#[derive(Clone, Copy)]
pub(super) struct Array {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// The texts of STRING records, one after another.
#[derive(Default)]
pub(super) struct StringTexts {
    places: Map<u64, (u32, u32)>,
    texts: List<u8>,
}

impl StringTexts {
    fn add(&mut self, id: u64, text: &[u8]) {
        // Beyond 4 GB of names, further ones are empty.
        if let (Ok(start), Ok(length)) =
            (u32::try_from(self.texts.len()), u32::try_from(text.len()))
        {
            self.places.insert(id, (start, length)).or_stop();
            self.texts.extend_from_slice(text).or_stop();
        }
    }

    /// Returns the text of an id, empty if there is none.
    pub(super) fn get(&self, id: u64) -> String {
        let Some(&(start, length)) = self.places.get(&id) else {
            return String::new();
        };
        let text = &self.texts[start as usize..][..length as usize];
        simd_cesu8::mutf8::decode_lossy(text).into_owned()
    }
}

impl FirstPass {
    pub(super) fn new(wanted: ListReference) -> Self {
        Self {
            wanted,
            names: StringTexts::default(),
            classes: Map::default(),
            frames: Map::default(),
            traces: Map::default(),
            threads: List::new(),
            described: Set::default(),
            layouts: Map::default(),
            list: None,
            globals: List::new(),
            blocks: List::new(),
            ints: List::new(),
            arrays: Map::default(),
            ids: NO_IDS,
            counter: HeapCounter::new(IdSize::Eight, ObjectLayout::USUAL),
        }
    }

    /// Returns the ids of classes that were loaded and have no record in the dump: the VM omits those that are not
    /// linked, though roots and class loaders refer to them.
    pub(super) fn undescribed(&self) -> List<u64> {
        let all = self.classes.values().map(|class| class.object);
        List::collect(all.filter(|class| !self.described.contains(class))).or_stop()
    }

    /// Subtracts objects from the totals; their ids are sorted.
    pub(super) fn leave_out(&mut self, source: &Source, ids: &[u64]) -> Result<(), DumpError> {
        let blocks = std::mem::take(&mut self.blocks);
        look_up(source, &blocks, ids, |kind, record, length| {
            if ids.binary_search(&id_of(record)).is_ok() {
                let (record, length) = self.shape(kind, record, length);
                self.counter.remove(&HeapItem::Head { record, length });
            }
        })?;
        self.blocks = blocks;
        Ok(())
    }

    /// Returns the totals of the dump without the omitted objects.
    pub(super) fn totals(&self) -> HeapTotals {
        self.counter.totals()
    }

    /// Returns the position of the elements of one of the remembered arrays.
    pub(super) fn array(&self, id: u64) -> Option<Array> {
        self.arrays.get(&id).copied()
    }

    fn object(&mut self, kind: HeapKind, record: &[u8], length: u64, offset: u64) {
        let id = read_u64_be(record, 1);
        self.ids = (self.ids.0.min(id), self.ids.1.max(id));
        let (record_head, length) = self.shape(kind, record, length);
        self.counter.item(&HeapItem::Head {
            record: record_head,
            length,
        });
        if kind == HeapKind::PrimitiveArray && record[17] == BasicType::Int as u8 {
            self.ints.push(id).or_stop();
        }
        if kind != HeapKind::ObjectArray {
            return;
        }
        let count = read_u32_be(record, 13);
        if count >= LARGE || self.wanted.lengths.contains(&count) {
            let array = Array {
                offset: offset + ARRAY_HEAD,
                length: count,
            };
            self.arrays.insert(id, array).or_stop();
        }
    }

    /// Returns an object without its content, and the number of bytes of content that will be written.
    fn shape(&self, kind: HeapKind, record: &[u8], length: u64) -> (HeapRecord<'static>, u64) {
        let object = ObjectId(read_u64_be(record, 1));
        let trace = TraceSerial(0);
        match kind {
            HeapKind::Instance => {
                let instance = HeapRecord::Instance {
                    object,
                    trace,
                    class: ObjectId(read_u64_be(record, 13)),
                    fields: &[],
                };
                (instance, length - INSTANCE_HEAD)
            }
            HeapKind::ObjectArray => (list_head(object), length - ARRAY_HEAD),
            _ => {
                let array = HeapRecord::PrimitiveArray {
                    object,
                    trace,
                    element: BasicType::from_byte(record[17]).unwrap_or(BasicType::Byte),
                    elements: &[],
                };
                let length = length - PRIMITIVE_HEAD;
                (
                    array,
                    if self.wanted.primitive_arrays {
                        length
                    } else {
                        0
                    },
                )
            }
        }
    }

    fn other(&mut self, kind: HeapKind, record: &RawHeapRecord<'_>) {
        if read_u64_be(record.bytes(), 1) == NO_MIRROR {
            return;
        }
        if kind == HeapKind::Class
            && let Ok(class) = record.decode()
        {
            self.counter.record(&class);
            self.described
                .insert(read_u64_be(record.bytes(), 1))
                .or_stop();
        }
        let record = record.bytes();
        match kind {
            HeapKind::Class => {
                let layout = ClassLayout {
                    super_class: read_u64_be(record, class_dump::SUPER_CLASS),
                    fields: class_dump::field_types(record),
                };
                self.layouts
                    .insert(read_u64_be(record, 1), layout)
                    .or_stop();
            }
            HeapKind::RootJniGlobal => {
                self.globals.push(read_u64_be(record, 1)).or_stop();
                if read_u64_be(record, 9) & !7 == self.wanted.reference {
                    self.list = Some(read_u64_be(record, 1));
                }
            }
            HeapKind::RootThread => {
                let thread = Thread {
                    object: read_u64_be(record, 1),
                    serial: read_u32_be(record, 9),
                    trace: read_u32_be(record, 13),
                };
                self.threads.push(thread).or_stop();
            }
            _ => {}
        }
    }
}

/// The id of a class that the VM is about to load, and that has no `java.lang.Class` object yet. Nothing can refer to it,
/// so it is omitted.
pub(super) const NO_MIRROR: u64 = 0;
/// The bounds of an empty set of ids.
const NO_IDS: (u64, u64) = (u64::MAX, 0);
/// The length of arrays of references whose positions are remembered: 2 KB or more in the heap, so there are few.
const LARGE: u32 = 256;
/// The number of bytes before the elements of an object array or of a primitive array, and before the fields of an
/// instance.
const ARRAY_HEAD: u64 = 25;
const PRIMITIVE_HEAD: u64 = 18;
const INSTANCE_HEAD: u64 = 25;

/// Returns the record of an array of references without its elements.
fn list_head(object: ObjectId) -> HeapRecord<'static> {
    HeapRecord::ObjectArray {
        object,
        trace: TraceSerial(0),
        class: ObjectId(0),
        elements: &[],
    }
}

impl Visitor for FirstPass {
    fn record(&mut self, tag: u8, body: &[u8]) -> Result<(), DumpError> {
        match tag {
            0x01 if body.len() >= 8 => self.names.add(read_u64_be(body, 0), &body[8..]),
            0x02 if body.len() >= 24 => {
                let class = LoadedClass {
                    object: read_u64_be(body, 4),
                    name: read_u64_be(body, 16),
                };
                if class.object != NO_MIRROR {
                    self.classes.insert(read_u32_be(body, 0), class).or_stop();
                }
            }
            0x04 if body.len() >= 40 => {
                let frame = DumpedFrame {
                    method: read_u64_be(body, 8),
                    signature: read_u64_be(body, 16),
                    source_file: read_u64_be(body, 24),
                    class: read_u32_be(body, 32),
                    line: read_u32_be(body, 36).cast_signed(),
                };
                self.frames.insert(read_u64_be(body, 0), frame).or_stop();
            }
            0x05 if body.len() >= 12 => {
                let frames = body[12..]
                    .chunks_exact(8)
                    .map(|frame| read_u64_be(frame, 0));
                let frames = List::collect(frames).or_stop();
                self.traces.insert(read_u32_be(body, 0), frames).or_stop();
            }
            _ => {}
        }
        Ok(())
    }

    fn heap(&mut self, block: &mut [u8], offset: u64) -> Result<DumpProgress, DumpError> {
        self.ids = NO_IDS;
        let progress = self.look(block, offset)?;
        if let DumpProgress::Done(length) = progress
            && self.ids != NO_IDS
        {
            let block = HeapBlock {
                offset,
                length: usize::try_from(length)
                    .map_or(block.len(), |length| length.min(block.len())),
                ids: self.ids,
            };
            self.blocks.push(block).or_stop();
        }
        Ok(progress)
    }
}

impl FirstPass {
    fn look(&mut self, block: &[u8], offset: u64) -> Result<DumpProgress, DumpError> {
        let mut records = HeapRecords::new(block, IdSize::Eight);
        loop {
            let start = records.offset();
            match records.next() {
                Some(Ok(record)) if has_content(record.kind()) => self.object(
                    record.kind(),
                    record.bytes(),
                    record.bytes().len() as u64,
                    offset + start as u64,
                ),
                Some(Ok(record)) => self.other(record.kind(), &record),
                None => return Ok(DumpProgress::Done(start as u64)),
                Some(Err(HeapError::Incomplete { .. })) if start > 0 => {
                    return Ok(DumpProgress::Done(start as u64));
                }
                Some(Err(HeapError::Incomplete { needed, .. })) => {
                    let kind = HeapKind::from_tag(block[0]);
                    return Ok(match kind {
                        // Only the header of a large array is of interest.
                        Some(kind) if has_content(kind) && block.len() as u64 > ARRAY_HEAD => {
                            self.object(kind, block, needed, offset);
                            DumpProgress::Done(needed)
                        }
                        _ => DumpProgress::Needs(needed),
                    });
                }
                Some(Err(_)) => {
                    return Err(DumpError::Content {
                        offset: offset + start as u64,
                        what: "it is no record of a heap dump",
                    });
                }
            }
        }
    }
}
