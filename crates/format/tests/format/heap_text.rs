//! Heap dumps in the text format.

use std::io::Cursor;

use hprof_format::*;

use crate::common::{encode, string, text_body};
use crate::heap::{records, written};

/// Returns the example as the agent writes it: names, totals, and one segment.
fn dump(summary: bool) -> Vec<(Micros, Record<'static>)> {
    let load = |serial, object, name| {
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object: ObjectId(object),
            trace: TraceSerial(300_000),
            name: StringId(name),
        })
    };
    let mut dump = vec![
        string(1, "next"),
        string(2, "readerSupplier"),
        string(3, "1234567"),
        string(4, "12345678"),
        string(5, "f"),
        string(6, "g"),
        string(7, "h"),
        string(8, "i"),
        string(9, "j"),
        string(10, "Point"),
        string(11, "[[Ljava/lang/String;"),
        load(100_001, 0x7_0000_0100, 10),
        load(100_002, 0x7_0000_0110, 11),
    ];
    if summary {
        dump.push(Record::HeapSummary(HeapSummaryRecord {
            live_bytes: 5_000_000_000,
            live_instances: 7,
            allocated_bytes: 5_000_000_000,
            allocated_instances: 7,
        }));
    }
    let mut records = records();
    // An empty class is not allowed in a dump.
    records.retain(|record| *record != HeapRecord::Class(ClassDump::default()));
    let super_class = ClassDump {
        class: ObjectId(0x7_0000_0108),
        trace: TraceSerial(300_000),
        ..ClassDump::default()
    };
    records.insert(0, HeapRecord::Class(super_class));
    dump.push(Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: written(&records).into(),
    }));
    let mut fields = 0x7_0000_0010_u64.to_be_bytes().to_vec();
    fields.resize(38, 0);
    let instance = HeapRecord::Instance {
        object: ObjectId(0x7_0000_0020),
        trace: TraceSerial(300_001),
        class: ObjectId(0x7_0000_0100),
        fields: &fields,
    };
    dump.push(Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: written(&[instance]).into(),
    }));
    dump.push(Record::HeapDumpEnd(HeapDumpEndRecord));
    dump.into_iter().map(|record| (Micros(0), record)).collect()
}

const GOLDEN: &str = "\
CLS 700000108 (name=<unknown>, trace=300000)
ROOT 700000010 (kind=<unknown>)
ROOT 700000010 (kind=<JNI global ref>, id=7f00000012345678, trace=300000)
ROOT 700000010 (kind=<JNI local ref>, thread=200001, frame=-1)
ROOT 700000010 (kind=<Java stack>, thread=200001, frame=3)
ROOT 700000010 (kind=<native stack>, thread=200001)
ROOT 700000010 (kind=<system class>, name=<unknown>)
ROOT 700000010 (kind=<thread block>, thread=200001)
ROOT 700000010 (kind=<busy monitor>)
ROOT 700000010 (kind=<thread>, id=200001, trace=300001)
ROOT 700000010 (kind=<interned string>)
ROOT 700000010 (kind=<finalizing>)
ROOT 700000010 (kind=<debugger>)
ROOT 700000010 (kind=<reference cleanup>)
ROOT 700000010 (kind=<VM internal>)
ROOT 700000010 (kind=<JNI monitor>, thread=200001, frame=7)
ROOT 700000010 (kind=<unreachable>)
CLS 700000100 (name=Point, trace=300001)
\tsuper\t\t700000108
\tloader\t\t700000200
\tsigners\t\t700000208
\tdomain\t\t700000210
\tstatic next\t700000010
\tconstant pool entry 1\t700000010
OBJ 700000010 (sz=32, trace=300001, class=Point@700000100)
OBJ 700000010 (sz=16, trace=300001, class=<unknown>@700000108)
ARR 700000010 (sz=24, trace=300001, nelems=2, elem type=java.lang.String[][]@700000110)
\t[1]\t\t700000010
ARR 700000010 (sz=24, trace=300001, nelems=2, elem type=boolean[])
ARR 700000010 (sz=24, trace=300001, nelems=1, elem type=char[])
ARR 700000010 (sz=24, trace=300001, nelems=1, elem type=float[])
ARR 700000010 (sz=24, trace=300001, nelems=1, elem type=double[])
ARR 700000010 (sz=24, trace=300001, nelems=3, elem type=byte[])
ARR 700000010 (sz=16, trace=300001, nelems=0, elem type=short[])
ARR 700000010 (sz=24, trace=300001, nelems=2, elem type=int[])
ARR 700000010 (sz=24, trace=300001, nelems=1, elem type=long[])
ARR 700000010 (sz=4000016, trace=300001, nelems=1000000, elem type=int[])
OBJ 700000020 (sz=48, trace=300001, class=Point@700000100)
\tnext\t\t700000010
HEAP DUMP END
";

/// Splits off the first line of a dump's text.
fn split(text: &str) -> (&str, &str) {
    let start = text.find("HEAP DUMP BEGIN").expect("a dump");
    text[start..].split_once('\n').expect("lines")
}

#[test]
fn a_dump() {
    let text = text_body(&dump(true));
    let (first, rest) = split(&text);
    assert!(
        first.starts_with("HEAP DUMP BEGIN (7 objects, 5000000000 bytes) "),
        "{first}"
    );
    assert_eq!(rest, GOLDEN);
}

/// Returns the text of a file, as `hprof text` prints it.
fn text_of(file: &[u8]) -> String {
    let mut reader = Reader::new(Cursor::new(file)).expect("a header");
    let id_size = reader.header().id_size;
    let mut encoder = TextEncoder::new();
    let mut text = Vec::new();
    encoder.start(reader.header().time, &mut text);
    text.clear();
    while let Some(entry) = reader.read().expect("a sound file") {
        let offset = entry.offset;
        match entry.item {
            Item::Record(ref record) => encoder.record(entry.time, record, &mut text),
            Item::HeapDumpEnd => encoder.heap_end(&mut text).expect("a Vec"),
            Item::HeapDump { .. } => {
                let time = entry.time;
                if !encoder.has_heap_totals() {
                    let totals = reader
                        .count_heap_dump(offset, ObjectLayout::USUAL)
                        .expect("a cursor goes back");
                    encoder.heap_totals(totals);
                }
                encoder.heap_segment(time, &mut text).expect("a Vec");
                while let Some(entry) = reader.read_heap().expect("a sound dump") {
                    encoder
                        .heap_item(id_size, &entry.item, &mut text)
                        .expect("a Vec");
                }
            }
        }
    }
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn a_binary_file_makes_the_same_text() {
    let file = encode(BinaryEncoder::new(), &dump(true));
    assert_eq!(text_of(&file), text_body(&dump(true)));
}

#[test]
fn totals_that_are_not_told_are_counted() {
    let file = encode(BinaryEncoder::new(), &dump(false));
    let text = text_of(&file);
    let (first, rest) = split(&text);
    assert_eq!(rest, GOLDEN);
    let sizes: Vec<u64> = GOLDEN
        .lines()
        .filter_map(|line| line.split_once("(sz=")?.1.split(',').next()?.parse().ok())
        .collect();
    let (objects, bytes) = (sizes.len(), sizes.iter().sum::<u64>());
    let expected = format!("HEAP DUMP BEGIN ({objects} objects, {bytes} bytes) ");
    assert!(first.starts_with(&expected), "{first}");
}

#[test]
fn totals_of_allocation_sites_are_not_those_of_a_dump() {
    let mut records = dump(true);
    let sites = Record::AllocSites(AllocSitesRecord {
        flags: 0,
        cutoff: 0.0,
        live_bytes: 1,
        live_instances: 1,
        allocated_bytes: 1,
        allocated_instances: 1,
        sites: Vec::new().into(),
    });
    let at = records.len() - 3;
    records.insert(at, (Micros(0), sites));
    let text = text_of(&encode(BinaryEncoder::new(), &records));
    let (first, _) = split(&text);
    assert!(!first.contains("(7 objects"), "{first}");
}

#[test]
fn names_of_eight_letters_leave_room_for_one_tab() {
    let class = ClassDump {
        class: ObjectId(16),
        instance_size: 24,
        fields: vec![
            (StringId(3), BasicType::Object),
            (StringId(4), BasicType::Object),
            (StringId(2), BasicType::Object),
        ]
        .into(),
        ..ClassDump::default()
    };
    let instance = HeapRecord::Instance {
        object: ObjectId(8),
        trace: TraceSerial(1),
        class: ObjectId(16),
        fields: b"\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x10",
    };
    let mut records = dump(true);
    records.truncate(records.len() - 3);
    let content = written(&[HeapRecord::Class(class), instance]);
    let content = content.into();
    records.push((
        Micros(0),
        Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
    ));
    let text = text_body(&records);
    assert!(
        text.ends_with("\t1234567\t\t8\n\t12345678\t8\n\treaderSupplier\t10\n"),
        "{text}"
    );
}

#[test]
fn long_objects_are_printed_whole() {
    let elements: Vec<u8> = (1..20_001_u64).flat_map(u64::to_be_bytes).collect();
    let array = HeapRecord::ObjectArray {
        object: ObjectId(8),
        trace: TraceSerial(1),
        class: ObjectId(16),
        elements: &elements,
    };
    let names: Vec<_> = (0..5_000)
        .map(|_| (StringId(1), BasicType::Object))
        .collect();
    let class = ClassDump {
        class: ObjectId(16),
        instance_size: 40_000,
        fields: names.into(),
        ..ClassDump::default()
    };
    let instance = HeapRecord::Instance {
        object: ObjectId(24),
        trace: TraceSerial(1),
        class: ObjectId(16),
        fields: &elements[..40_000],
    };
    let content = written(&[HeapRecord::Class(class), array, instance]);
    let mut records = dump(true);
    records.truncate(records.len() - 3);
    let content = content.into();
    records.push((
        Micros(0),
        Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
    ));
    let text = text_of(&encode(BinaryEncoder::new(), &records));
    assert!(text == text_body(&records), "in pieces or in one");
    assert!(text.contains("sz=80016, trace=1, nelems=20000,"));
    assert!(text.contains("\t[19999]\t\t4e20\n"));
    assert!(text.ends_with("\tnext\t\t1387\n\tnext\t\t1388\n"));
}
