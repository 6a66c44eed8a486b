//! Tables of files with known content, read back with the crate's own reader. `tests/jvm/output/tables.rs` has those of real
//! programs, read by DuckDB and pyarrow.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_format::{
    AllocSite, AllocSitesRecord, BasicType, BinaryEncoder, BirthMoment, BirthsHead, BirthsWriter,
    ClassDump, ClassSerial, CpuSamplesRecord, Encoder, EndThreadRecord, FrameId, FrameRecord,
    HeapDumpEndRecord, HeapDumpSegmentRecord, HeapRecord, Line, LoadClassRecord, Micros, Millis,
    NativeAmounts, NativeSite, NativeSites, ObjectBirth, ObjectId, Record, Root, SampleTimes,
    Section, StartThreadRecord, StepCount, StringId, StringRecord, ThreadSerial, TimedLock,
    TimedRow, TimedSection, TraceRecord, TraceSerial, Value, births_path,
};
use hprof_heap::{Memory, Silent};
use hprof_tables::{Converted, Error, Kind, Options, TABLES, convert};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use tempfile::TempDir;

const STRINGS: [&str; 10] = [
    "Main",
    "main",
    "()V",
    "Main.java",
    "pool-7-thread-12",
    "next",
    "shared",
    "a.Main$$Lambda$14.0x00007f12a4000a08",
    "java/lang/Class",
    "[LMain;",
];
const LISTED: [u64; 4] = [48, 2, 24, 1];
const TIME: u64 = 1_700_000_000_000;
const TOTALS: [u64; 4] = [1048, 102, 24, 1];

fn site() -> AllocSite {
    AllocSite {
        array_of: None,
        class: ClassSerial(1),
        trace: TraceSerial(5),
        live_bytes: LISTED[2],
        live_instances: LISTED[3],
        allocated_bytes: LISTED[0],
        allocated_instances: LISTED[1],
    }
}

/// Returns a dump of two objects of one class in descending order, the first of which refers to the second, and an
/// array of them.
fn dump() -> Vec<u8> {
    let class = ClassDump {
        class: ObjectId(0x10),
        instance_size: 8,
        statics: Cow::Owned(vec![(StringId(7), Value::Object(ObjectId(0x300)))]),
        fields: Cow::Owned(vec![(StringId(6), BasicType::Object)]),
        ..ClassDump::default()
    };
    let id = |id: u64| id.to_be_bytes();
    let instance = |object: u64, fields| HeapRecord::Instance {
        object: ObjectId(object),
        trace: TraceSerial(5),
        class: ObjectId(0x10),
        fields,
    };
    let elements = [id(0x100), id(0), id(0x200)].concat();
    let mut content = Vec::new();
    let (second, first) = (id(0), id(0x200));
    let records = [
        HeapRecord::Class(class),
        instance(0x200, &second[..]),
        instance(0x100, &first[..]),
        HeapRecord::ObjectArray {
            object: ObjectId(0x300),
            trace: TraceSerial(5),
            class: ObjectId(0x20),
            elements: &elements,
        },
        HeapRecord::Root {
            object: ObjectId(0x10),
            root: Root::StickyClass,
        },
        HeapRecord::Root {
            object: ObjectId(0x200),
            root: Root::JavaFrame {
                thread: ThreadSerial(3),
                frame: -1,
            },
        },
    ];
    for record in records {
        record.write(&mut content);
    }
    content
}

fn file() -> Vec<u8> {
    let mut records: Vec<Record<'static>> = (1..)
        .zip(STRINGS)
        .map(|(id, text)| {
            Record::String(StringRecord {
                id: StringId(id),
                text: Cow::Borrowed(text.as_bytes()),
            })
        })
        .collect();
    for (serial, object, name) in [(1, 0x10, 1), (2, 0x20, 10), (3, 0, 8)] {
        records.push(Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object: ObjectId(object),
            trace: TraceSerial(0),
            name: StringId(name),
        }));
    }
    records.push(Record::StartThread(StartThreadRecord {
        serial: ThreadSerial(3),
        object: ObjectId(0x400),
        trace: TraceSerial(0),
        name: StringId(5),
        group: StringId(2),
        parent_group: StringId(0),
    }));
    for (id, class, line) in [(20, 1, Line::Number(7)), (21, 3, Line::Native)] {
        records.push(Record::Frame(FrameRecord {
            id: FrameId(id),
            method: StringId(2),
            signature: StringId(3),
            source_file: StringId(4),
            class: ClassSerial(class),
            line,
        }));
    }
    records.push(Record::Trace(TraceRecord {
        serial: TraceSerial(5),
        thread: ThreadSerial(3),
        frames: Cow::Owned(vec![FrameId(20), FrameId(21)]),
    }));
    records.push(Record::AllocSites(AllocSitesRecord {
        flags: 0,
        cutoff: 0.1,
        live_bytes: TOTALS[2],
        live_instances: TOTALS[3],
        allocated_bytes: TOTALS[0],
        allocated_instances: TOTALS[1],
        sites: Cow::Owned(vec![site()]),
    }));
    records.push(Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: Cow::Owned(dump()),
    }));
    records.push(Record::HeapDumpEnd(HeapDumpEndRecord));
    let mut encoder = BinaryEncoder::new();
    let mut bytes = Vec::new();
    encoder.start(Millis(TIME), &mut bytes);
    for record in &records {
        encoder.record(Micros(0), record, &mut bytes);
    }
    bytes
}

fn converted(bytes: &[u8], folder: &Path, options: &Options) -> Result<Converted, Error> {
    let mut input = tempfile::tempfile().expect("a file");
    input.write_all(bytes).expect("it takes that");
    convert(input, "x.hprof", folder, options, &Silent)
}

/// Returns the rows of a table of the only run, without `run_id`.
fn rows(folder: &Path, table: &str) -> Vec<Vec<Field>> {
    let files = fs::read_dir(folder.join(table)).expect("the table's folder");
    let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{table}");
    let reader = SerializedFileReader::new(File::open(&files[0]).expect("it is there"));
    let reader = reader.expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows").map(|row| {
        let row = row.expect("a row");
        row.get_column_iter()
            .skip(1)
            .map(|(_, value)| value.clone())
            .collect()
    });
    rows.collect()
}

fn long(value: i64) -> Field {
    Field::Long(value)
}

fn text(value: &str) -> Field {
    Field::Str(value.to_owned())
}

#[test]
fn sums_are_those_of_the_totals_whatever_rows_were_left_out() {
    let folder = TempDir::new().expect("a folder");
    converted(&file(), folder.path(), &Options::default()).expect("a sound file");
    let sites = rows(folder.path(), "alloc_site");
    assert_eq!(sites.len(), 2);
    let sum = |column: usize| -> i64 {
        let values = sites.iter().map(|row| match row[column] {
            Field::Long(value) => value,
            _ => panic!("{row:?}"),
        });
        values.sum()
    };
    assert_eq!(
        [2, 3, 4, 5].map(sum),
        TOTALS.map(|total| total.cast_signed())
    );
    let rest = sites
        .iter()
        .find(|row| row[1] == Field::Null)
        .expect("the rest");
    let traces = rows(folder.path(), "trace");
    let trace = traces
        .iter()
        .find(|trace| trace[0] == rest[0])
        .expect("its trace");
    assert_eq!(trace[3], text("<not listed>"));
}

#[test]
fn names_are_the_same_in_every_run_and_stacks_are_one_text() {
    let folder = TempDir::new().expect("a folder");
    converted(&file(), folder.path(), &Options::default()).expect("a sound file");
    let classes = rows(folder.path(), "class");
    let names: Vec<&Field> = classes.iter().map(|class| &class[1]).collect();
    // java.lang.Class follows, which the file does not define.
    assert_eq!(
        names[..3],
        [&text("Main"), &text("Main[]"), &text("a.Main$$Lambda")]
    );
    assert_eq!(classes[2][2], text(STRINGS[7]));
    let traces = rows(folder.path(), "trace");
    let trace = traces
        .iter()
        .find(|trace| trace[0] == long(5))
        .expect("trace 5");
    assert_eq!(
        trace[1..4],
        [
            long(3),
            Field::Int(2),
            text("a.Main$$Lambda.main;Main.main")
        ]
    );
    let threads = rows(folder.path(), "thread");
    assert_eq!(
        threads[0][..3],
        [long(3), text("pool-7-thread-12"), text("pool-#-thread-#")]
    );
}

#[test]
fn a_renamed_thread_has_its_first_and_its_last_name() {
    let mut encoder = BinaryEncoder::new();
    let mut bytes = Vec::new();
    encoder.start(Millis(TIME), &mut bytes);
    let mut write = |record: &Record<'_>| encoder.record(Micros(0), record, &mut bytes);
    let note = |text: &str, number| {
        Record::String(StringRecord {
            id: StringId::note(number),
            text: Cow::Owned(text.as_bytes().to_vec()),
        })
    };
    // The third one ends before the second one is renamed, and the fourth gets its first name back.
    for serial in 1..=4 {
        write(&Record::String(StringRecord {
            id: StringId(serial),
            text: Cow::Owned(format!("Thread-{serial}").into_bytes()),
        }));
        write(&Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(u32::try_from(serial).expect("it is small")),
            object: ObjectId(0),
            trace: TraceSerial(0),
            name: StringId(serial),
            group: StringId(0),
            parent_group: StringId(0),
        }));
    }
    let ended = |serial| {
        Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(serial),
        })
    };
    write(&note("thread 3 was renamed: audit", 0));
    write(&ended(3));
    write(&note("thread 2 was renamed: worker-1", 1));
    write(&note("thread 2 was renamed: worker-2", 2));
    write(&note("thread 4 was renamed: busy", 3));
    write(&note("thread 4 was renamed: Thread-4", 4));
    let folder = TempDir::new().expect("a folder");
    converted(&bytes, folder.path(), &Options::default()).expect("a sound file");
    let threads = rows(folder.path(), "thread");
    let names: Vec<[Field; 3]> = threads
        .iter()
        .map(|row| [row[0].clone(), row[1].clone(), row[7].clone()])
        .collect();
    let row = |serial, last| [long(serial), text(&format!("Thread-{serial}")), last];
    assert_eq!(
        names,
        [
            row(1, Field::Null),
            row(2, text("worker-2")),
            row(3, text("audit")),
            row(4, Field::Null)
        ]
    );
}

/// Two dumps of CPU samples, and waits for a lock in the second one.
#[test]
fn samples_have_the_times_of_their_dump() {
    let mut encoder = BinaryEncoder::new();
    let mut bytes = Vec::new();
    encoder.start(Millis(TIME), &mut bytes);
    let mut write = |record: &Record<'_>| encoder.record(Micros(0), record, &mut bytes);
    let samples = |trace, counts: &[(u32, u64)]| TimedRow {
        trace: TraceSerial(trace),
        lock: None,
        counts: counts
            .iter()
            .map(|&(step, count)| StepCount { step, count })
            .collect(),
    };
    let times = |of, rows: Vec<TimedRow>| {
        let section = Section::SampleTimes(SampleTimes {
            of,
            sample: Duration::from_millis(20),
            begin: Millis(TIME),
            millis: 1_000,
            step: 250,
            rows,
        });
        Record::String(StringRecord {
            id: StringId::note(0),
            text: Cow::Owned(section.note().expect("a note").into_owned().into_bytes()),
        })
    };
    for (total, rows) in [
        (1, vec![samples(6, &[(3, 1)])]),
        (
            9,
            vec![samples(0, &[(2, 2)]), samples(5, &[(0, 3), (1, 4)])],
        ),
    ] {
        write(&Record::CpuSamples(CpuSamplesRecord {
            total,
            rows: Cow::Owned(Vec::new()),
        }));
        write(&times(TimedSection::CpuSamples, rows));
    }
    let wait = TimedRow {
        lock: Some(TimedLock {
            holder: Some(TraceSerial(6)),
            class: ClassSerial(1),
            identity: Some(0xab),
        }),
        ..samples(5, &[(1, 8)])
    };
    write(&times(TimedSection::LockWaits, vec![wait]));
    let folder = TempDir::new().expect("a folder");
    converted(&bytes, folder.path(), &Options::default()).expect("a sound file");
    let begin = TIME.cast_signed();
    let row = |of: &str, labels: [Field; 3], at: i64, samples: i64| {
        let head = [text(of), long(5)].into_iter().chain(labels);
        let values = [
            long(begin + at),
            Field::Double(0.25),
            long(samples),
            long(samples * 20_000_000),
        ];
        head.chain(values).collect::<Vec<Field>>()
    };
    let none = || [Field::Null, Field::Null, Field::Null];
    let stored = rows(folder.path(), "sample_time");
    assert_eq!(
        stored[..3],
        [
            row("cpu_sample", none(), 0, 3),
            row("cpu_sample", none(), 250, 4),
            row("lock_wait", [long(1), long(0xab), long(6)], 250, 8),
        ]
    );
    // What is in no row of the file has a stack of its own.
    let traces = rows(folder.path(), "trace");
    let trace = traces.iter().find(|trace| trace[0] == stored[3][1]);
    assert_eq!(trace.expect("its trace")[3], text("<not listed>"));
    assert_eq!((&stored[3][7], stored.len()), (&long(2), 4));
    let first = Options {
        section: Some(1),
        ..Options::default()
    };
    let folder = TempDir::new().expect("a folder");
    converted(&bytes, folder.path(), &first).expect("a sound file");
    let stored = rows(folder.path(), "sample_time");
    assert_eq!(stored.len(), 1);
    assert_eq!(
        (&stored[0][1], &stored[0][5]),
        (&long(6), &long(begin + 750))
    );
}

#[test]
fn native_sites_become_rows_with_their_errors() {
    let amounts = |live: u64| NativeAmounts {
        live_bytes: live,
        live_blocks: 3,
        old_bytes: live / 2,
        old_blocks: 1,
        allocated_bytes: 10 * live,
        allocated_blocks: 30,
    };
    let mut encoder = BinaryEncoder::new();
    let mut bytes = Vec::new();
    encoder.start(Millis(TIME), &mut bytes);
    let mut write = |sites: NativeSites| {
        let section = Section::NativeSites(sites);
        let note = section.note().expect("a note").into_owned();
        let record = Record::String(StringRecord {
            id: StringId::note(0),
            text: Cow::Owned(note.into_bytes()),
        });
        encoder.record(Micros(0), &record, &mut bytes);
    };
    for listed in [4_000, 6_000] {
        write(NativeSites {
            totals: amounts(listed).and(amounts(500)),
            old: 10,
            interval: 512,
            rows: vec![NativeSite {
                amounts: amounts(listed),
                live_error: 70,
                trace: TraceSerial(5),
            }],
            ..NativeSites::default()
        });
    }
    let row = |trace: Field, error: Field, live: i64| {
        let amounts = [live / 2, 1, 10 * live, 30].map(long);
        let head = [trace, long(live), long(3), error, Field::Int(10)];
        head.into_iter().chain(amounts).collect::<Vec<Field>>()
    };
    let stored = |options: &Options| {
        let folder = TempDir::new().expect("a folder");
        converted(&bytes, folder.path(), options).expect("a sound file");
        (
            rows(folder.path(), "native_site"),
            rows(folder.path(), "run"),
        )
    };
    // The last dump counts; what is in no row of it has a stack of its own.
    let (sites, run) = stored(&Options::default());
    assert_eq!(sites[0], row(long(5), long(70), 6_000));
    assert_eq!(sites[1][1..], row(Field::Null, Field::Null, 500)[1..]);
    assert_eq!(sites.len(), 2);
    assert_eq!(run[0][5], Field::Int(2));
    let first = Options {
        section: Some(1),
        ..Options::default()
    };
    assert_eq!(stored(&first).0[0], row(long(5), long(70), 4_000));
}

#[test]
fn a_heap_dump_becomes_objects_references_and_roots() {
    let folder = TempDir::new().expect("a folder");
    let options = Options {
        retained: Some(Memory::unlimited()),
        ..Options::default()
    };
    converted(&file(), folder.path(), &options).expect("a sound file");
    let objects = rows(folder.path(), "object");
    let ids: Vec<&Field> = objects.iter().map(|object| &object[0]).collect();
    assert_eq!(ids, [&long(0x10), &long(0x100), &long(0x200), &long(0x300)]);
    // Main, Main and Main[3], in the usual layout: a header of 12 bytes, references of 4.
    assert_eq!(objects[1][1..4], [long(1), long(5), long(16)]);
    assert_eq!(
        objects[3][1..5],
        [long(2), long(5), long(32), Field::Int(3)]
    );
    // The array keeps the first object; the second is a root.
    assert_eq!(objects[1][5..7], [long(16), long(0x300)]);
    assert_eq!(objects[2][5..7], [long(16), Field::Null]);
    assert_eq!(objects[3][5..7], [long(48), long(0x10)]);
    let fields = rows(folder.path(), "field");
    let number = |name: &str| -> Field {
        let found = fields.iter().find(|field| field[2] == text(name));
        found.expect("a field")[0].clone()
    };
    let found = rows(folder.path(), "reference");
    let expected = [
        [long(0x10), long(0x300), number("shared"), Field::Null],
        [long(0x100), long(0x200), number("next"), Field::Null],
        [long(0x300), long(0x100), Field::Null, Field::Int(0)],
        [long(0x300), long(0x200), Field::Null, Field::Int(2)],
    ];
    assert_eq!(found, expected);
    let roots = rows(folder.path(), "root");
    assert_eq!(
        roots[0],
        [long(0x10), text("sticky class"), Field::Null, Field::Null]
    );
    assert_eq!(
        roots[1],
        [long(0x200), text("java frame"), long(3), Field::Null]
    );
}

/// A class with a field of each primitive type, one of its instances, and three strings: of Latin-1, of UTF-16, and one
/// without its array.
fn dump_with_values() -> Vec<u8> {
    let names = ["z", "c", "f", "d", "b", "s", "i", "j", "value", "coder"];
    let kinds = [
        BasicType::Boolean,
        BasicType::Char,
        BasicType::Float,
        BasicType::Double,
        BasicType::Byte,
        BasicType::Short,
        BasicType::Int,
        BasicType::Long,
    ];
    let name = |place: usize| StringId(100 + place as u64);
    let all = ClassDump {
        class: ObjectId(0x10),
        instance_size: 30,
        statics: Cow::Owned(vec![(StringId(7), Value::Int(-1))]),
        fields: (0..).map(name).zip(kinds).collect(),
        ..ClassDump::default()
    };
    let string = ClassDump {
        class: ObjectId(0x20),
        instance_size: 9,
        fields: Cow::Owned(vec![
            (name(8), BasicType::Object),
            (name(9), BasicType::Byte),
        ]),
        ..ClassDump::default()
    };
    let values: Vec<u8> = [
        &[1][..],
        &0xe9_u16.to_be_bytes(),
        &1.5_f32.to_be_bytes(),
        &(-0.25_f64).to_be_bytes(),
        &(-2_i8).to_be_bytes(),
        &(-300_i16).to_be_bytes(),
        &i32::MIN.to_be_bytes(),
        &i64::MAX.to_be_bytes(),
    ]
    .concat();
    let instance = |object, class, fields| HeapRecord::Instance {
        object: ObjectId(object),
        trace: TraceSerial(0),
        class: ObjectId(class),
        fields,
    };
    let of_string = |array: u64, coder| [&array.to_be_bytes()[..], &[coder]].concat();
    let strings = [(0x400, 0), (0x500, 1), (0x600, 0)];
    let strings = strings.map(|(array, coder)| of_string(array, coder));
    let bytes = |object, elements| HeapRecord::PrimitiveArray {
        object: ObjectId(object),
        trace: TraceSerial(0),
        element: BasicType::Byte,
        elements,
    };
    let mut content = Vec::new();
    for record in [
        HeapRecord::Class(all),
        HeapRecord::Class(string),
        instance(0x100, 0x10, &values[..]),
        instance(0x110, 0x20, &strings[0][..]),
        instance(0x120, 0x20, &strings[1][..]),
        instance(0x130, 0x20, &strings[2][..]),
        bytes(0x400, b"caf\xe9\n"),
        bytes(0x500, b"\x3d\xd8\x00\xde"),
    ] {
        record.write(&mut content);
    }
    let named = names.iter().zip(100..).map(|(&name, id)| (id, name));
    let classes = [(200, "All"), (201, "java/lang/String"), (7, "shared")];
    let mut encoder = BinaryEncoder::new();
    let mut bytes = Vec::new();
    encoder.start(Millis(TIME), &mut bytes);
    let mut write = |record: &Record<'_>| encoder.record(Micros(0), record, &mut bytes);
    for (id, text) in named.chain(classes) {
        write(&Record::String(StringRecord {
            id: StringId(id),
            text: Cow::Borrowed(text.as_bytes()),
        }));
    }
    for (serial, object, name) in [(1, 0x10, 200), (2, 0x20, 201)] {
        write(&Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(serial),
            class_object: ObjectId(object),
            trace: TraceSerial(0),
            name: StringId(name),
        }));
    }
    write(&Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: Cow::Owned(content),
    }));
    write(&Record::HeapDumpEnd(HeapDumpEndRecord));
    bytes
}

#[test]
fn values_of_fields_and_texts_of_strings_are_there_when_asked_for() {
    let retained = Options {
        retained: Some(Memory::unlimited()),
        ..Options::default()
    };
    let options = Options {
        values: true,
        ..retained.clone()
    };
    let folder = TempDir::new().expect("a folder");
    converted(&dump_with_values(), folder.path(), &options).expect("a sound file");
    let fields = rows(folder.path(), "field");
    let name = |number: &Field| {
        let found = fields.iter().find(|field| field[0] == *number);
        found.expect("a field")[2].to_string()
    };
    let mut found: Vec<(Field, String, Field, Field)> = rows(folder.path(), "value")
        .into_iter()
        .map(|row| {
            (
                row[0].clone(),
                name(&row[1]),
                row[2].clone(),
                row[3].clone(),
            )
        })
        .collect();
    found.sort_by_key(|(object, name, ..)| (object.to_string(), name.clone()));
    let number = |object, name: &str, value| {
        (
            long(object),
            format!("\"{name}\""),
            long(value),
            Field::Null,
        )
    };
    let real = |object, name: &str, value| {
        (
            long(object),
            format!("\"{name}\""),
            Field::Null,
            Field::Double(value),
        )
    };
    let expected = [
        number(0x10, "shared", -1),
        number(0x100, "b", -2),
        number(0x100, "c", 0xe9),
        real(0x100, "d", -0.25),
        real(0x100, "f", 1.5),
        number(0x100, "i", i32::MIN.into()),
        number(0x100, "j", i64::MAX),
        number(0x100, "s", -300),
        number(0x100, "z", 1),
        number(0x110, "coder", 0),
        number(0x120, "coder", 1),
        number(0x130, "coder", 0),
    ];
    assert_eq!(found, expected);
    let expected = [
        [long(0x110), Field::Int(5), text("café\n")],
        [long(0x120), Field::Int(2), text("😀")],
    ];
    assert_eq!(rows(folder.path(), "string"), expected);

    let folder = TempDir::new().expect("a folder");
    converted(&dump_with_values(), folder.path(), &retained).expect("a sound file");
    for table in ["value", "string"] {
        assert!(rows(folder.path(), table).is_empty(), "{table}");
    }
}

/// Writes a births file: one object was made in the first of two moments, another in the second.
fn write_births(file: &Path, time: u64) {
    let moment = |number, millis| BirthMoment {
        number,
        millis,
        collections: number,
        bytes: 0,
    };
    let head = BirthsHead {
        file: time,
        dump: 1,
        run: 7,
        next: 2,
        millis: 900,
        collections: 2,
        moments: vec![moment(0, 0), moment(1, 300)],
    };
    let mut writer = BirthsWriter::new(Vec::new(), &head).expect("a vector");
    for (object, moment) in [(0x300, 0), (0x100, 1)] {
        let birth = ObjectBirth {
            object: ObjectId(object),
            identity: object,
            moment,
        };
        writer.add(birth).expect("a vector");
    }
    let births = writer.finish().expect("a vector");
    fs::write(births_path(file, 1), births).expect("a file");
}

#[test]
fn objects_have_the_times_of_their_births() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("x.hprof");
    let options = Options {
        path: Some(path.clone()),
        ..Options::default()
    };
    let born = |name: &str| {
        let tables = folder.path().join(name);
        let converted = converted(&file(), &tables, &options).expect("a sound file");
        let objects = rows(&tables, "object").into_iter();
        let born: Vec<Vec<Field>> = objects.map(|object| object[7..].to_vec()).collect();
        (born, converted.births_fault)
    };
    let unknown = vec![Field::Null, Field::Null];
    assert_eq!(born("missing"), (vec![unknown.clone(); 4], None));

    write_births(&path, TIME);
    // Those of 0x10 and 0x200 are not known.
    let expected = [
        unknown.clone(),
        vec![long(300), long(900)],
        unknown.clone(),
        vec![long(0), long(300)],
    ];
    assert_eq!(born("known"), (expected.to_vec(), None));

    write_births(&path, TIME + 1);
    let (born, fault) = born("other");
    assert_eq!(born, vec![unknown; 4]);
    assert!(fault.is_some_and(|fault| fault.contains("belongs to another dump")));
}

#[test]
fn a_damaged_file_leaves_nothing() {
    let whole = file();
    let folder = TempDir::new().expect("a folder");
    for cut in [10, 40, 200] {
        let failed = converted(&whole[..cut], folder.path(), &Options::default());
        let error = failed.expect_err("a part of a file");
        assert!(!error.is_output(), "{cut}: {error}");
        let left = fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(left, 0, "{cut}: {error}");
    }
}

#[test]
fn the_tables_of_a_cut_dump_say_that_it_is_cut() {
    let whole = file();
    for missing in [20, 100] {
        let folder = TempDir::new().expect("a folder");
        let cut = &whole[..whole.len() - missing];
        let converted = converted(cut, folder.path(), &Options::default()).expect("tables");
        assert!(converted.completeness.is_cut(), "{missing}: {converted:?}");
    }
}

#[test]
fn tables_are_for_their_owner_alone_and_one_file_is_one_run() {
    let folder = TempDir::new().expect("a folder");
    let below = folder.path().join("below/tables");
    let run = converted(&file(), &below, &Options::default())
        .expect("a sound file")
        .run;
    let again = converted(&file(), &below, &Options::default())
        .expect("a sound file")
        .run;
    assert_eq!(run, again);
    let section = Options {
        section: Some(1),
        ..Options::default()
    };
    let other = converted(&file(), &folder.path().join("other"), &section);
    assert_ne!(other.expect("the section is there").run, run);
    let name = format!("{run:016x}.parquet");
    for table in TABLES {
        let path = below.join(table.name).join(&name);
        let mode = |path: &Path| {
            let found = fs::metadata(path).unwrap_or_else(|_| panic!("{}", path.display()));
            found.permissions().mode() & 0o777
        };
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().expect("its folder")), 0o700);
        rows(&below, table.name);
    }
    let left = fs::read_dir(&below).expect("the folder").count();
    assert_eq!(left, TABLES.len(), "no temporary folder is left");
}

#[test]
fn a_section_that_is_not_there_is_refused() {
    let folder = TempDir::new().expect("a folder");
    for section in [0, 2] {
        let options = Options {
            section: Some(section),
            ..Options::default()
        };
        let error = converted(&file(), folder.path(), &options).expect_err("there is one");
        let said = format!("there is no section {section}; the file has 1");
        assert_eq!(error.to_string(), said);
    }
}

const COLUMNS: &str = "\
---
search:
  exclude: true
---

# The columns of the tables

<!-- Made of crates/tables/src/schema.rs; a test compares them. HPROF_BLESS=1 writes this page. -->

Every table has `run_id`, an int64, as its first column. Bytes, counts and times are int64, with the unit of times in the name. `null`
marks columns that may be null, because not every input has the value. [Tables](tables.md) has the use and the keys.
";

#[test]
fn the_columns_page_is_what_the_tables_have() {
    let mut page = COLUMNS.to_owned();
    for table in TABLES {
        page += &format!("\n## `{}`\n\n{}", table.name, table.about);
        if !table.sort.is_empty() {
            page += &format!(" Ordered by `{}`.", table.sort.join("`, `"));
        }
        page += "\n\n| column | type | meaning |\n|---|---|---|\n";
        for column in table.columns {
            let kind = match column.kind {
                Kind::Repeated | Kind::Distinct => "int64",
                Kind::Small | Kind::Counted => "int32",
                Kind::Text => "string",
                Kind::Flag => "boolean",
                Kind::Real => "double",
            };
            let null = if column.nullable { ", null" } else { "" };
            let (name, meaning) = (column.name, column.meaning);
            page += &format!("| `{name}` | {kind}{null} | {meaning} |\n");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/table-columns.md");
    if std::env::var_os("HPROF_BLESS").is_some() {
        fs::write(path, page).expect("the page");
        return;
    }
    let found = fs::read_to_string(path).expect("the page");
    // Not compared by `assert_eq`, which would print both.
    assert!(found == page, "HPROF_BLESS=1 writes the page anew");
}
