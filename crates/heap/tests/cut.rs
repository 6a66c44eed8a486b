//! Dumps that end too early, and dumps whose records have wrong lengths: what is there is counted, and that it is not all is
//! said.

#[allow(dead_code, reason = "other tests use the rest")]
mod model;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Completeness, Encoder, FrameId, FrameRecord,
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, Line, LoadClassRecord, Micros, Millis,
    ObjectId, Record, Root, RootsLeft, StringId, StringRecord, ThreadSerial, TraceRecord,
    TraceSerial, Value,
};
use hprof_heap::{By, Dump, Error, Excluded, Heap, Memory, Options, Silent, Summary, histogram};

const NODE: u64 = 0x100;
const HOLDER: u64 = 0x200;
const ARRAY: u64 = 0x300;

/// The records of a dump: a class with a static field, which holds a list of three nodes, and an array that the last one
/// holds. All objects are alive.
fn objects() -> Vec<Vec<u8>> {
    let class = |id: u64, statics: Vec<(StringId, Value)>, fields| {
        HeapRecord::Class(ClassDump {
            class: ObjectId(id),
            statics: statics.into(),
            fields,
            ..ClassDump::default()
        })
    };
    let fields = vec![(StringId(1), BasicType::Object)].into();
    let first = Value::Object(ObjectId(0x1000));
    let mut records = vec![
        class(NODE, Vec::new(), fields),
        class(HOLDER, vec![(StringId(1), first)], Vec::new().into()),
    ];
    let next: Vec<[u8; 8]> = [0x1010_u64, 0x1020, ARRAY].map(u64::to_be_bytes).to_vec();
    for (at, next) in (0..).zip(&next) {
        records.push(HeapRecord::Instance {
            object: ObjectId(0x1000 + 0x10 * at),
            trace: TraceSerial(0),
            class: ObjectId(NODE),
            fields: next,
        });
    }
    records.push(HeapRecord::PrimitiveArray {
        object: ObjectId(ARRAY),
        trace: TraceSerial(0),
        element: BasicType::Byte,
        elements: &[7; 100],
    });
    let write = |record: &HeapRecord<'_>| {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        bytes
    };
    records.iter().map(write).collect()
}

/// The sizes of these objects: classes, nodes with one reference, and the array.
const SIZES: [u64; 6] = [16, 16, 16, 16, 16, 120];

fn roots() -> Vec<Vec<u8>> {
    let root = |id: u64| {
        let (object, root) = (ObjectId(id), Root::StickyClass);
        let mut bytes = Vec::new();
        HeapRecord::Root { object, root }.write(&mut bytes);
        bytes
    };
    vec![root(NODE), root(HOLDER)]
}

/// A file, and where its parts are.
struct Written {
    bytes: Vec<u8>,
    /// Where the first segment begins.
    start: usize,
    /// Where each object's record ends.
    ends: Vec<usize>,
}

/// Writes a dump of two segments, with what is between them.
fn written(are_roots_first: bool) -> Written {
    let mut bytes = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut bytes);
    let mut put = |record: Record<'_>, bytes: &mut Vec<u8>| {
        encoder.record(Micros(0), &record, bytes);
    };
    let string = |id: u64, text: &'static str| {
        Record::String(StringRecord {
            id: StringId(id),
            text: text.as_bytes().into(),
        })
    };
    for (id, text) in [(1, "next"), (2, "Node"), (3, "Holder")] {
        put(string(id, text), &mut bytes);
    }
    for (serial, object, name) in [(1, NODE, 2), (2, HOLDER, 3)] {
        put(
            Record::LoadClass(LoadClassRecord {
                serial: ClassSerial(serial),
                class_object: ObjectId(object),
                trace: TraceSerial(0),
                name: StringId(name),
            }),
            &mut bytes,
        );
    }
    let start = bytes.len();
    let (objects, roots) = (objects(), roots());
    let mut ends = Vec::new();
    for (part, own) in [(0, &objects[..4]), (1, &objects[4..])] {
        let mut content = Vec::new();
        if are_roots_first && part == 0 {
            content.extend(roots.concat());
        }
        for object in own {
            content.extend(object);
            ends.push(bytes.len() + 9 + content.len());
        }
        if !are_roots_first && part == 1 {
            content.extend(roots.concat());
        }
        let content = content.into();
        put(
            Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
            &mut bytes,
        );
        if part == 0 {
            let frame = FrameRecord {
                id: FrameId(1),
                method: StringId(1),
                signature: StringId(1),
                source_file: StringId(1),
                class: ClassSerial(1),
                line: Line::Number(7),
            };
            put(Record::Frame(frame), &mut bytes);
        }
    }
    put(Record::HeapDumpEnd(HeapDumpEndRecord), &mut bytes);
    Written { bytes, start, ends }
}

fn opened(bytes: &[u8]) -> Result<(Completeness, Summary, u64), Error> {
    let file = model::file(bytes);
    of_file(&file)
}

/// Returns how much of a dump there is, its summary, and the objects in its histogram.
fn of_file(file: &File) -> Result<(Completeness, Summary, u64), Error> {
    let dump = Dump::open(file, None)?;
    let options = Options {
        layout: Some("12,4,8".parse().expect("a layout")),
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    };
    let heap = Heap::of(&dump, &options, &Silent)?;
    let rows = histogram(&dump, By::Class, options.layout, &Silent)?.rows;
    let counted = rows.iter().map(|row| row.objects).sum();
    Ok((dump.completeness(), heap.summary()?, counted))
}

#[test]
fn a_dump_cut_at_any_byte_is_counted_as_far_as_it_goes() {
    for are_roots_first in [true, false] {
        let Written { bytes, start, ends } = written(are_roots_first);
        for length in 0..bytes.len() {
            let found = opened(&bytes[..length]);
            let Ok((completeness, summary, counted)) = found else {
                assert!(length < start + 9, "byte {length}: {:?}", found.err());
                continue;
            };
            let Completeness::Cut { at, rest, roots } = completeness else {
                panic!("byte {length}: {completeness:?}");
            };
            assert_eq!(at + rest, length as u64);
            let whole = ends.iter().filter(|&&end| end <= length).count();
            assert_eq!((summary.objects, counted), (whole as u64, whole as u64));
            assert_eq!(summary.bytes, SIZES[..whole].iter().sum::<u64>());
            assert_eq!(summary.unreachable_objects, 0);
            // Of roots at the end, the last ones may be missing, whether they are or not.
            let has_roots = are_roots_first && whole > 2;
            assert_eq!(roots == RootsLeft::All, has_roots, "byte {length}");
        }
        let (completeness, summary, counted) = opened(&bytes).expect("it is whole");
        assert_eq!(completeness, Completeness::Whole);
        assert_eq!((summary.objects, counted), (6, 6));
    }
}

#[test]
fn a_segment_whose_length_was_never_set_is_read_to_its_end() {
    let Written { bytes, .. } = written(true);
    let second = bytes.iter().rposition(|&byte| byte == 0x1C);
    let second = second.expect("there are two");
    let mut unfinished = bytes[..bytes.len() - 9].to_vec();
    unfinished[second + 5..second + 9].fill(0);
    let (completeness, summary, counted) = opened(&unfinished).expect("a dump");
    assert_eq!((summary.objects, counted), (6, 6));
    let at = unfinished.len() as u64;
    let (rest, roots) = (0, RootsLeft::All);
    assert_eq!(completeness, Completeness::Cut { at, rest, roots });
    // Whoever can still write the end has all of it.
    unfinished.extend(&bytes[bytes.len() - 9..]);
    let (completeness, ..) = opened(&unfinished).expect("a dump");
    assert_eq!(completeness, Completeness::Whole);
}

#[test]
fn a_length_above_4_gb_is_that_modulo_4_gb() {
    const EACH: u32 = 900_000_000;
    const ARRAYS: u64 = 5;
    let mut bytes = b"JAVA PROFILE 1.0.1\0".to_vec();
    bytes.extend(8_u32.to_be_bytes());
    bytes.extend(0_u64.to_be_bytes());
    let head = 1 + 8 + 4 + 4 + 1;
    let roots: Vec<u8> = (0..ARRAYS).flat_map(|at| root(0x1000 + at)).collect();
    let length = roots.len() as u64 + ARRAYS * (head + u64::from(EACH));
    bytes.extend([0x0C, 0, 0, 0, 0]);
    bytes.extend(((length & u64::from(u32::MAX)) as u32).to_be_bytes());
    bytes.extend(roots);
    // Its arrays of zeros take no room on the disk.
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(&bytes).expect("room for it");
    let mut at = bytes.len() as u64;
    for number in 0..ARRAYS {
        let mut array = vec![0x23];
        array.extend((0x1000 + number).to_be_bytes());
        array.extend(0_u32.to_be_bytes());
        array.extend(EACH.to_be_bytes());
        array.push(BasicType::Byte as u8);
        file.write_all_at(&array, at).expect("room for it");
        at += head + u64::from(EACH);
    }
    file.set_len(at).expect("a file may have holes");
    let (completeness, summary, counted) = of_file(&file).expect("a dump");
    assert_eq!(completeness, Completeness::Whole);
    assert_eq!((summary.objects, counted), (ARRAYS, ARRAYS));
    assert_eq!(summary.bytes, ARRAYS * (16 + u64::from(EACH)));
}

fn root(id: u64) -> Vec<u8> {
    let (object, root) = (ObjectId(id), Root::StickyClass);
    let mut bytes = Vec::new();
    HeapRecord::Root { object, root }.write(&mut bytes);
    bytes
}

#[test]
fn a_file_cut_after_its_dump_has_a_whole_dump() {
    let Written { bytes, .. } = written(true);
    let mut encoder = BinaryEncoder::new();
    let mut more = bytes.clone();
    let trace = Record::Trace(TraceRecord {
        serial: TraceSerial(1),
        thread: ThreadSerial(0),
        frames: vec![FrameId(1)].into(),
    });
    encoder.record(Micros(0), &trace, &mut more);
    for length in bytes.len() + 1..more.len() {
        let (completeness, summary, _) = opened(&more[..length]).expect("a dump");
        let at = bytes.len() as u64;
        assert_eq!(completeness, Completeness::WholeInCutFile { at });
        assert_eq!(summary.objects, 6);
    }
    assert!(opened(&more).is_ok_and(|(completeness, ..)| completeness.is_whole()));
}
