//! A file that is truncated or overwritten while it is open: every question about it is an error, and nothing crashes.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, TraceSerial,
};
use hprof_heap::{By, Dump, Error, Excluded, Heap, Memory, Options, Silent, Target, Walk};

const CLASS: u64 = 0x10;
const FIRST: u64 = 0x1000;

fn dump() -> File {
    let mut content = Vec::new();
    HeapRecord::Class(ClassDump {
        class: ObjectId(CLASS),
        instance_size: 8,
        fields: [(StringId(2), BasicType::Object)][..].into(),
        ..ClassDump::default()
    })
    .write(&mut content);
    HeapRecord::Root {
        object: ObjectId(FIRST),
        root: Root::StickyClass,
    }
    .write(&mut content);
    // Each refers to the next one; some of them are alone on a page.
    for number in 0..50_000 {
        HeapRecord::Instance {
            object: ObjectId(FIRST + 16 * number),
            trace: TraceSerial(1),
            class: ObjectId(CLASS),
            fields: &(FIRST + 16 * (number + 1)).to_be_bytes(),
        }
        .write(&mut content);
    }
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    for (id, text) in [(1, "Main"), (2, "next")] {
        let text = text.as_bytes().into();
        let id = StringId(id);
        encoder.record(
            Micros(0),
            &Record::String(StringRecord { id, text }),
            &mut out,
        );
    }
    for record in [
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(1),
            class_object: ObjectId(CLASS),
            trace: TraceSerial(1),
            name: StringId(1),
        }),
        Record::HeapDumpSegment(HeapDumpSegmentRecord {
            content: content.into(),
        }),
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ] {
        encoder.record(Micros(0), &record, &mut out);
    }
    let file = tempfile::tempfile().expect("a temporary file");
    file.write_all_at(&out, 0).expect("there is room");
    file
}

fn options() -> Options {
    Options {
        layout: None,
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    }
}

fn is_changed<T>(answer: Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Changed))
}

fn assert_changed(dump: &Dump, heap: &Heap<'_>) {
    let middle = FIRST + 16 * 30_000;
    assert!(is_changed(heap.show(ObjectId(middle), 0)));
    assert!(is_changed(heap.paths(&Target::Object(ObjectId(middle)), 1)));
    assert!(is_changed(heap.paths(&Target::Class("Main".to_owned()), 1)));
    assert!(is_changed(heap.largest(None, 10)));
    assert!(is_changed(heap.leaks(0.1, None)));
    assert!(is_changed(heap.waste(10)));
    assert!(is_changed(heap.areas(None, 10)));
    assert!(is_changed(heap.threads(10)));
    for by in [By::Class, By::Loader, By::Package, By::Site] {
        assert!(is_changed(heap.groups(by, 0)));
        assert!(is_changed(hprof_heap::histogram(dump, by, None, &Silent)));
    }
    assert!(is_changed(heap.who("Main", 0)));
    assert!(is_changed(Heap::of(dump, &options(), &Silent)));
    assert!(is_changed(Walk::of(dump, None, &Silent)));
}

#[test]
fn a_file_that_is_cut_short_costs_the_answers_alone() {
    for left in [0, 100, 5_000, 1_000_000] {
        let file = self::dump();
        let dump = Dump::open(&file, None).expect("a dump");
        let heap = Heap::of(&dump, &options(), &Silent).expect("a sound dump");
        heap.show(ObjectId(FIRST + 16 * 30_000), 0)
            .expect("it is there");
        file.set_len(left).expect("it is ours");
        assert_changed(&dump, &heap);
        // A second question finds zeros where the file was, and is still an error.
        assert_changed(&dump, &heap);
    }
}

#[test]
fn a_file_that_is_written_anew_is_not_mistaken_for_the_one_before() {
    let file = dump();
    let dump = Dump::open(&file, None).expect("a dump");
    let heap = Heap::of(&dump, &options(), &Silent).expect("a sound dump");
    let length = file.metadata().expect("a file").len();
    file.set_len(0).expect("it is ours");
    file.write_all_at(b"JAVA PROFILE 1.0.1, created ", 0)
        .expect("there is room");
    file.set_len(2 * length).expect("it is ours");
    assert_changed(&dump, &heap);
}

#[test]
fn a_file_that_grows_stays_the_same() {
    let file = dump();
    let dump = Dump::open(&file, None).expect("a dump");
    let heap = Heap::of(&dump, &options(), &Silent).expect("a sound dump");
    let length = file.metadata().expect("a file").len();
    file.write_all_at(b"the next dump", length)
        .expect("there is room");
    heap.show(ObjectId(FIRST + 16 * 30_000), 0)
        .expect("it is there");
}
