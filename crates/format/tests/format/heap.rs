//! The records of a heap dump, written and read back.

use hprof_format::*;

/// Returns one record of each kind that the agent writes, with ids of 8 bytes.
pub fn records() -> Vec<HeapRecord<'static>> {
    let thread = ThreadSerial(200_001);
    let trace = TraceSerial(300_001);
    let roots = [
        Root::Unknown,
        Root::JniGlobal {
            reference: 0x7f00_0000_1234_5678,
        },
        Root::JniLocal { thread, frame: -1 },
        Root::JavaFrame { thread, frame: 3 },
        Root::NativeStack { thread },
        Root::StickyClass,
        Root::ThreadBlock { thread },
        Root::MonitorUsed,
        Root::Thread { thread, trace },
        Root::InternedString,
        Root::Finalizing,
        Root::Debugger,
        Root::ReferenceCleanup,
        Root::VmInternal,
        Root::JniMonitor { thread, frame: 7 },
        Root::Unreachable,
    ];
    let object = ObjectId(0x7_0000_0010);
    let mut records: Vec<_> = roots
        .into_iter()
        .map(|root| HeapRecord::Root { object, root })
        .collect();
    records.push(HeapRecord::Class(class()));
    records.push(HeapRecord::Class(ClassDump::default()));
    records.push(HeapRecord::Instance {
        object,
        trace,
        class: ObjectId(0x7_0000_0100),
        fields: b"\x01\0\0\0\0\0\0\0\x07\0\0\0\x2a",
    });
    records.push(HeapRecord::Instance {
        object,
        trace,
        class: ObjectId(0x7_0000_0108),
        fields: b"",
    });
    records.push(HeapRecord::ObjectArray {
        object,
        trace,
        class: ObjectId(0x7_0000_0110),
        elements: b"\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x10",
    });
    for (element, elements) in [
        (BasicType::Boolean, &b"\0\x01"[..]),
        (BasicType::Char, b"\0a"),
        (BasicType::Float, b"\x3f\xc0\0\0"),
        (BasicType::Double, b"\x3f\xf8\0\0\0\0\0\0"),
        (BasicType::Byte, b"\xff\xfe\xfd"),
        (BasicType::Short, b""),
        (BasicType::Int, b"\0\0\0\x01\0\0\0\x02"),
        (BasicType::Long, b"\0\0\0\0\0\0\0\x09"),
    ] {
        records.push(HeapRecord::PrimitiveArray {
            object,
            trace,
            element,
            elements,
        });
    }
    records.push(HeapRecord::PrimitiveArrayWithoutData {
        object,
        trace,
        element: BasicType::Int,
        length: 1_000_000,
    });
    records.push(HeapRecord::HeapInfo {
        heap: 2,
        name: StringId(77),
    });
    records
}

/// Returns a class with a static and a field of each type.
fn class() -> ClassDump<'static> {
    let values = [
        Value::Object(ObjectId(0x7_0000_0010)),
        Value::Boolean(true),
        Value::Char(0x20ac),
        Value::Float(1.5),
        Value::Double(-2.25),
        Value::Byte(-2),
        Value::Short(-300),
        Value::Int(123_456_789),
        Value::Long(-1_234_567_890_123_456_789),
    ];
    let names = || (1_u64..).map(StringId);
    ClassDump {
        class: ObjectId(0x7_0000_0100),
        trace: TraceSerial(300_001),
        super_class: ObjectId(0x7_0000_0108),
        loader: ObjectId(0x7_0000_0200),
        signers: ObjectId(0x7_0000_0208),
        protection_domain: ObjectId(0x7_0000_0210),
        instance_size: 38,
        constants: vec![(1, values[0]), (500, values[8])].into(),
        statics: names().zip(values).collect(),
        fields: names().zip(values.map(Value::basic_type)).collect(),
    }
}

pub fn written(records: &[HeapRecord<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        record.write(&mut bytes);
    }
    bytes
}

fn decoded(bytes: &[u8]) -> Vec<HeapRecord<'_>> {
    HeapRecords::new(bytes, IdSize::Eight)
        .map(|record| record.and_then(|record| record.decode()).expect("sound"))
        .collect()
}

#[test]
fn what_is_written_reads_the_same() {
    let records = records();
    let bytes = written(&records);
    assert_eq!(decoded(&bytes), records);
    for kind in HeapKind::ALL {
        assert!(
            records.iter().any(|record| record.kind() == *kind),
            "{kind}"
        );
    }
}

#[test]
fn records_keep_their_bytes() {
    let records = records();
    let bytes = written(&records);
    let mut again = Vec::new();
    for (raw, record) in HeapRecords::new(&bytes, IdSize::Eight).zip(&records) {
        let raw = raw.expect("sound");
        assert_eq!(raw.kind(), record.kind());
        again.extend_from_slice(raw.bytes());
        let content = match *record {
            HeapRecord::Instance { fields, .. } => fields,
            HeapRecord::ObjectArray { elements, .. }
            | HeapRecord::PrimitiveArray { elements, .. } => elements,
            _ => &[],
        };
        assert_eq!(raw.content(), content);
    }
    assert_eq!(again, bytes);
}

#[test]
fn a_slice_that_ends_inside_a_record_asks_for_more() {
    for record in &records() {
        let mut bytes = written(&[HeapRecord::HeapInfo {
            heap: 0,
            name: StringId(0),
        }]);
        let offset = bytes.len();
        record.write(&mut bytes);
        for end in offset + 1..bytes.len() {
            let mut records = HeapRecords::new(&bytes[..end], IdSize::Eight);
            records.next().expect("one is whole").expect("sound");
            let error = records.next().expect("one is cut").expect_err("it is cut");
            let HeapError::Incomplete { offset: at, needed } = error else {
                panic!("{error}");
            };
            assert_eq!(at, offset);
            let given = (end - offset) as u64;
            assert!(given < needed && needed <= (bytes.len() - offset) as u64);
            assert_eq!(records.offset(), offset, "the caller goes on from here");
        }
    }
}

#[test]
fn ids_of_four_bytes() {
    let bytes = b"\x01\0\0\0\x05\0\0\0\x06\
        \x21\0\0\0\x05\0\x04\x93\xe1\0\0\0\x07\0\0\0\x04\0\0\0\x05\
        \x22\0\0\0\x05\0\x04\x93\xe1\0\0\0\x02\0\0\0\x08\0\0\0\x05\0\0\0\0\
        \xfe\0\0\0\x09\0\0\0\x0a";
    let records: Vec<_> = HeapRecords::new(bytes, IdSize::Four)
        .map(|record| record.and_then(|record| record.decode()).expect("sound"))
        .collect();
    let object = ObjectId(5);
    let trace = TraceSerial(300_001);
    assert_eq!(
        records,
        [
            HeapRecord::Root {
                object,
                root: Root::JniGlobal { reference: 6 }
            },
            HeapRecord::Instance {
                object,
                trace,
                class: ObjectId(7),
                fields: b"\0\0\0\x05"
            },
            HeapRecord::ObjectArray {
                object,
                trace,
                class: ObjectId(8),
                elements: b"\0\0\0\x05\0\0\0\0"
            },
            HeapRecord::HeapInfo {
                heap: 9,
                name: StringId(10)
            },
        ]
    );
}

#[test]
fn what_means_nothing_is_named() {
    let mut records = HeapRecords::new(b"\x05\0\0\0\x01\x24\0\0\0\0", IdSize::Four);
    records.next().expect("a root").expect("sound");
    for _ in 0..2 {
        let error = records
            .next()
            .expect("more")
            .expect_err("there is no such tag");
        assert_eq!(
            error,
            HeapError::UnknownTag {
                offset: 5,
                tag: 0x24
            }
        );
    }
    let array = b"\x23\0\0\0\x01\0\0\0\x01\0\0\0\x01\x02\0\0\0\0";
    let error = HeapRecords::new(array, IdSize::Four).next().expect("one");
    assert_eq!(
        error
            .expect_err("references are no primitive type")
            .to_string(),
        "byte 0: PRIMITIVE ARRAY DUMP has the element type 2, which means nothing"
    );
}

#[test]
fn a_boolean_that_holds_2_is_true() {
    let class = |value| {
        let statics = vec![(StringId(5), Value::Boolean(value))].into();
        let mut bytes = Vec::new();
        HeapRecord::Class(ClassDump {
            statics,
            ..ClassDump::default()
        })
        .write(&mut bytes);
        bytes
    };
    let mut bytes = class(true);
    let place = (0..bytes.len()).find(|&at| bytes[at] != class(false)[at]);
    bytes[place.expect("the value is in there")] = 2;
    let record = HeapRecords::new(&bytes, IdSize::Eight).next();
    let record = record.expect("a record").expect("a whole one");
    let HeapRecord::Class(read) = record.decode().expect("a sound one") else {
        panic!("no class");
    };
    assert_eq!(read.statics[..], [(StringId(5), Value::Boolean(true))]);
}
