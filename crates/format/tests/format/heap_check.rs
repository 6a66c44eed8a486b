//! Faults in a heap dump are found and reported.

use std::io::Cursor;

use hprof_format::*;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{encode, string, trace};

const OBJECT: u64 = 0x7_0000_0000;
const POINT: u64 = 0x7_0000_0100;
const POINTS: u64 = 0x7_0000_0200;
const FIRST: u64 = 0x7_0000_1000;
const SECOND: u64 = 0x7_0000_2000;
const ARRAY: u64 = 0x7_0000_3000;
const TRACE: TraceSerial = TraceSerial(300_001);

fn load(serial: u32, object: u64, name: u64) -> Record<'static> {
    Record::LoadClass(LoadClassRecord {
        serial: ClassSerial(serial),
        class_object: ObjectId(object),
        trace: TRACE,
        name: StringId(name),
    })
}

/// Returns the records before the dump.
pub fn before() -> Vec<Record<'static>> {
    vec![
        Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 4 }),
        trace(300_001, 0, &[]),
        string(1, "java.lang.Object"),
        string(2, "Point"),
        string(3, "Point[]"),
        string(4, "next"),
        string(5, "x"),
        load(100_001, OBJECT, 1),
        load(100_002, POINT, 2),
        load(100_003, POINTS, 3),
    ]
}

fn class(id: u64, super_class: u64) -> ClassDump<'static> {
    ClassDump {
        class: ObjectId(id),
        trace: TRACE,
        super_class: ObjectId(super_class),
        ..ClassDump::default()
    }
}

fn point() -> ClassDump<'static> {
    ClassDump {
        instance_size: 12,
        statics: vec![(StringId(4), Value::Object(ObjectId(ARRAY)))].into(),
        fields: vec![
            (StringId(5), BasicType::Int),
            (StringId(4), BasicType::Object),
        ]
        .into(),
        ..class(POINT, OBJECT)
    }
}

fn instance(object: u64, fields: &[u8]) -> HeapRecord<'_> {
    HeapRecord::Instance {
        object: ObjectId(object),
        trace: TRACE,
        class: ObjectId(POINT),
        fields,
    }
}

fn root(object: u64, root: Root) -> HeapRecord<'static> {
    HeapRecord::Root {
        object: ObjectId(object),
        root,
    }
}

/// Returns a dump of three classes, two points and an array of both.
pub fn sound() -> Vec<HeapRecord<'static>> {
    vec![
        HeapRecord::Class(class(OBJECT, 0)),
        HeapRecord::Class(point()),
        HeapRecord::Class(class(POINTS, OBJECT)),
        instance(FIRST, b"\0\0\0\x01\0\0\0\x07\0\0\x20\0"),
        instance(SECOND, b"\0\0\0\x02\0\0\0\0\0\0\0\0"),
        HeapRecord::ObjectArray {
            object: ObjectId(ARRAY),
            trace: TRACE,
            class: ObjectId(POINTS),
            elements: b"\0\0\0\x07\0\0\x10\0\0\0\0\x07\0\0\x20\0\0\0\0\0\0\0\0\0",
        },
        root(ARRAY, Root::StickyClass),
        root(
            FIRST,
            Root::JavaFrame {
                thread: ThreadSerial(200_000),
                frame: 0,
            },
        ),
    ]
}

/// Returns a file with one dump, and the offset of each of its records.
pub fn file_of(before: &[Record<'_>], dump: &[HeapRecord<'_>]) -> (Vec<u8>, Vec<u64>) {
    let mut content = Vec::new();
    let mut offsets = Vec::new();
    let timed = |record: &Record<'_>| (Micros(0), record.clone().into_owned());
    let mut records: Vec<_> = before.iter().map(timed).collect();
    let start = encode(BinaryEncoder::new(), &records).len() + 9;
    for record in dump {
        offsets.push((start + content.len()) as u64);
        record.write(&mut content);
    }
    records.push((
        Micros(0),
        Record::HeapDumpSegment(HeapDumpSegmentRecord {
            content: content.into(),
        }),
    ));
    records.push((Micros(0), Record::HeapDumpEnd(HeapDumpEndRecord)));
    (encode(BinaryEncoder::new(), &records), offsets)
}

/// Returns the message about the dump, and the index of the record that it is about.
fn fault_of(dump: &[HeapRecord<'_>]) -> (usize, String) {
    let (file, offsets) = file_of(&before(), dump);
    let fault = check(Cursor::new(file)).expect_err("the dump is not sound");
    let index = offsets.iter().position(|&offset| offset == fault.offset());
    let message = fault.to_string();
    let message = message.split_once(": ").expect("the offset comes first").1;
    (index.expect("the fault is at a record"), message.to_owned())
}

/// As [`fault_of`], with the record at `index` of the valid dump replaced.
fn fault_with(index: usize, record: HeapRecord<'_>) -> String {
    let mut dump: Vec<HeapRecord<'_>> = sound();
    dump[index] = record;
    let (at, message) = fault_of(&dump);
    assert_eq!(at, index, "{message}");
    message
}

#[test]
fn a_sound_dump_is_counted() {
    let (file, _) = file_of(&before(), &sound());
    let summary = check(Cursor::new(&file)).expect("the dump is sound");
    assert_eq!(summary.heap_dumps, 1);
    let counts: Vec<_> = summary.heap_records.into_iter().collect();
    assert_eq!(
        counts,
        [
            (HeapKind::RootJavaFrame, 1),
            (HeapKind::RootStickyClass, 1),
            (HeapKind::Class, 3),
            (HeapKind::Instance, 2),
            (HeapKind::ObjectArray, 1),
        ]
    );
}

#[test]
fn the_order_of_records_plays_no_part() {
    let mut dump = sound();
    dump.reverse();
    let (file, _) = file_of(&before(), &dump);
    check(Cursor::new(file)).expect("the dump is sound");
    dump.push(instance(0x7_0000_4000, b"\0\0\0\x01\0\0\0\x07\0\0\x20\x08"));
    let (at, message) = fault_of(&dump);
    assert_eq!(at, 8);
    assert_eq!(
        message,
        "INSTANCE DUMP 0x700004000 has the field 0x700002008, which is not in this heap dump"
    );
}

#[test]
fn every_reference_must_resolve() {
    let nowhere = ObjectId(0x123);
    let suffix = "0x123, which is not in this heap dump";
    let field = instance(FIRST, b"\0\0\0\x01\0\0\0\0\0\0\x01\x23");
    assert_eq!(
        fault_with(3, field),
        format!("INSTANCE DUMP 0x700001000 has the field {suffix}")
    );
    let array = HeapRecord::ObjectArray {
        object: ObjectId(ARRAY),
        trace: TRACE,
        class: ObjectId(POINTS),
        elements: b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x23",
    };
    assert_eq!(
        fault_with(5, array),
        format!("OBJECT ARRAY DUMP 0x700003000 has the element {suffix}")
    );
    let is = |class: ClassDump<'static>, role: &str| {
        assert_eq!(
            fault_with(1, HeapRecord::Class(class)),
            format!("CLASS DUMP 0x700000100 has the {role} {suffix}")
        );
    };
    let loader = nowhere;
    is(ClassDump { loader, ..point() }, "class loader");
    let signers = nowhere;
    is(ClassDump { signers, ..point() }, "signers");
    let protection_domain = nowhere;
    is(
        ClassDump {
            protection_domain,
            ..point()
        },
        "protection domain",
    );
    let statics = vec![(StringId(4), Value::Object(nowhere))].into();
    is(ClassDump { statics, ..point() }, "static");
    let constants = vec![(1, Value::Object(nowhere))].into();
    is(
        ClassDump {
            constants,
            ..point()
        },
        "constant",
    );
    assert_eq!(
        fault_with(6, root(0x123, Root::MonitorUsed)),
        format!("ROOT MONITOR USED 0x123 has the object {suffix}")
    );
}

#[test]
fn elements_of_long_arrays_count_too() {
    let mut elements = vec![0; 100_000];
    elements.extend_from_slice(&0x123_u64.to_be_bytes());
    elements.extend_from_slice(&[0; 80_000]);
    let array = HeapRecord::ObjectArray {
        object: ObjectId(ARRAY),
        trace: TRACE,
        class: ObjectId(POINTS),
        elements: &elements,
    };
    assert_eq!(
        fault_with(5, array),
        "OBJECT ARRAY DUMP 0x700003000 has the element 0x123, which is not in this heap dump"
    );
}

#[test]
fn fields_of_long_instances_count_too() {
    let fields: Vec<_> = (0..20_000)
        .map(|_| (StringId(4), BasicType::Object))
        .collect();
    let point = |fields: &[(StringId, BasicType)]| ClassDump {
        instance_size: 8 * fields.len() as u32,
        fields: fields.to_vec().into(),
        ..class(POINT, OBJECT)
    };
    let mut content = vec![0; 159_992];
    content.extend_from_slice(&FIRST.to_be_bytes());
    let good = [
        HeapRecord::Class(class(OBJECT, 0)),
        HeapRecord::Class(point(&fields)),
        instance(FIRST, &content),
    ];
    let (file, _) = file_of(&before(), &good);
    check(Cursor::new(file)).expect("the dump is sound");
    let mut content = content.clone();
    content[159_999] = 9;
    let (at, message) = fault_of(&[good[0].clone(), good[1].clone(), instance(FIRST, &content)]);
    assert_eq!(at, 2);
    assert!(message.ends_with("has the field 0x700001009, which is not in this heap dump"));
    let short = &content[8..];
    let (_, message) = fault_of(&[good[0].clone(), good[1].clone(), instance(FIRST, short)]);
    assert!(message.contains("has 159992 bytes of fields"), "{message}");
}

#[test]
fn classes_and_instances_agree_on_sizes() {
    assert_eq!(
        fault_with(4, instance(SECOND, b"\0\0\0\x02")),
        "INSTANCE DUMP 0x700002000 has 4 bytes of fields, but those of its class 0x700000100 and its \
         superclasses take 12"
    );
    let class = ClassDump {
        instance_size: 16,
        ..point()
    };
    assert_eq!(
        fault_with(1, HeapRecord::Class(class)),
        "CLASS DUMP 0x700000100 says that instances take 16 bytes, but its fields and those of its \
         superclasses take 12"
    );
}

#[test]
fn classes_must_be_there() {
    let mut dump = sound();
    dump.remove(1);
    assert_eq!(
        fault_of(&dump),
        (
            2,
            "INSTANCE DUMP 0x700001000 has the class 0x700000100, which has no CLASS DUMP in this heap dump"
                .to_owned()
        )
    );
    let mut dump = sound();
    dump.remove(2);
    assert_eq!(
        fault_of(&dump),
        (
            4,
            "OBJECT ARRAY DUMP 0x700003000 has the class 0x700000200, which has no CLASS DUMP in this heap \
             dump"
                .to_owned()
        )
    );
    assert_eq!(
        fault_with(2, HeapRecord::Class(class(POINTS, FIRST))),
        "CLASS DUMP 0x700000200 has the superclass 0x700001000, which has no CLASS DUMP in this heap dump"
    );
    let unknown = class(0x7_0000_0300, OBJECT);
    assert_eq!(
        fault_with(2, HeapRecord::Class(unknown)),
        "CLASS DUMP 0x700000300 is of a class that no LOAD CLASS before it has as its object"
    );
    assert_eq!(
        fault_with(0, HeapRecord::Class(class(OBJECT, POINT))),
        "CLASS DUMP 0x700000000 has superclasses without end: one of them is above itself"
    );
}

#[test]
fn ids_are_unique() {
    let mut dump = sound();
    dump.push(HeapRecord::PrimitiveArray {
        object: ObjectId(FIRST),
        trace: TRACE,
        element: BasicType::Byte,
        elements: b"",
    });
    assert_eq!(
        fault_of(&dump),
        (
            8,
            "PRIMITIVE ARRAY DUMP 0x700001000 has the id of an object before it in this heap dump"
                .to_owned()
        )
    );
}

#[test]
fn names_come_before_the_dump() {
    let trace = HeapRecord::PrimitiveArray {
        object: ObjectId(SECOND),
        trace: TraceSerial(300_009),
        element: BasicType::Byte,
        elements: b"",
    };
    assert_eq!(
        fault_with(4, trace),
        "PRIMITIVE ARRAY DUMP 0x700002000 names trace 300009, which is not in the file before it"
    );
    let thread = ThreadSerial(200_009);
    for thread in [
        Root::JniLocal { thread, frame: -1 },
        Root::NativeStack { thread },
        Root::ThreadBlock { thread },
        Root::Thread {
            thread,
            trace: TRACE,
        },
    ] {
        let message = fault_with(6, root(FIRST, thread));
        assert!(message.ends_with("names thread 200009, which is not in the file before it"));
    }
    let fields = vec![
        (StringId(9), BasicType::Object),
        (StringId(5), BasicType::Int),
    ]
    .into();
    assert_eq!(
        fault_with(1, HeapRecord::Class(ClassDump { fields, ..point() })),
        "CLASS DUMP 0x700000100 names string 9, which is not in the file before it"
    );
}

#[test]
fn a_dump_has_an_end() {
    let (file, _) = file_of(&before(), &sound());
    let fault = check(Cursor::new(&file[..file.len() - 9])).expect_err("its end is missing");
    let start = file_of(&before(), &[]).0.len() - 18;
    assert_eq!(
        fault.to_string(),
        format!("byte {start}: the heap dump that starts here has no HEAP DUMP END")
    );
}

#[test]
fn ids_are_those_of_one_dump() {
    let (file, _) = file_of(&before(), &sound());
    let (mut both, _) = (file.clone(), ());
    // Point moves to the place of Point[], and Point[] away from there, before the second dump.
    let moved = [load(100_002, POINTS, 2), load(100_003, POINT, 3)];
    let moved = encode(
        BinaryEncoder::new(),
        &moved.map(|record| (Micros(0), record)),
    );
    both.extend_from_slice(&moved[31..]);
    let start = file_of(&before(), &[]).0.len() - 18;
    both.extend_from_slice(&file[start..]);
    let summary = check(Cursor::new(&both)).expect("both dumps are sound");
    assert_eq!(summary.heap_dumps, 2);
    let dump = [HeapRecord::Class(class(POINT, OBJECT))];
    let (other, _) = file_of(&[], &dump);
    both.extend_from_slice(&other[31..]);
    let fault = check(Cursor::new(&both)).expect_err("Object is not in the third dump");
    assert!(fault.to_string().contains("has the superclass 0x700000000"));
}

#[test]
fn hotspots_array_of_archived_objects_may_name_what_is_not_there() {
    let held = root(ARRAY, Root::JniGlobal { reference: 1 });
    let array = HeapRecord::ObjectArray {
        object: ObjectId(ARRAY),
        trace: TRACE,
        class: ObjectId(POINTS),
        elements: b"\0\0\0\0\0\0\x01\x23",
    };
    let by_a_vm = &before()[1..];
    let checked = |dump: &[HeapRecord<'_>]| check(Cursor::new(file_of(by_a_vm, dump).0));
    let mut dump = sound();
    dump[5] = array.clone();
    checked(&dump).expect_err("nothing holds the array");
    dump[6] = held.clone();
    checked(&dump).expect("the array is held by native code");
    let (at, _) = fault_of(&dump);
    assert_eq!(at, 5, "an agent has no excuse");
    dump.insert(0, held);
    checked(&dump).expect("the array is held by native code");
}

proptest! {
    #[test]
    fn a_damaged_dump_is_read_or_refused(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let (mut file, offsets) = file_of(&before(), &sound());
        let dump = offsets[0] as usize..file.len();
        for (place, byte) in damage {
            file[dump.start + place.index(dump.len())] = byte;
        }
        if cut {
            file.truncate(length.index(file.len()));
        }
        let _ = check(Cursor::new(&file));
        let Ok(mut reader) = Reader::new(Cursor::new(&file)) else { return Ok(()) };
        let mut encoder = TextEncoder::new();
        let mut text = Vec::new();
        while let Ok(Some(entry)) = reader.read() {
            let offset = entry.offset;
            match entry.item {
                Item::Record(ref record) => encoder.record(Micros(0), record, &mut text),
                Item::HeapDumpEnd => encoder.heap_end(&mut text).expect("a Vec"),
                Item::HeapDump { .. } => {
                    reader.count_heap_dump(offset, ObjectLayout::USUAL).expect("a cursor goes back");
                    encoder.heap_segment(Micros(0), &mut text).expect("a Vec");
                    while let Ok(Some(entry)) = reader.read_heap() {
                        encoder.heap_item(IdSize::Eight, &entry.item, &mut text).expect("a Vec");
                    }
                }
            }
        }
        prop_assert!(text.len() < 100_000);
    }
}
