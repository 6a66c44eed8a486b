//! A small file does not take much memory, whatever names it repeats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hprof_format::*;

/// The length of the long name, in bytes.
const NAME: usize = 100_000;

/// The kilobytes of address space that `hprof text` may use; at its start, it uses a few thousand.
const LIMIT: u32 = 150_000;

fn string(id: u64, text: Vec<u8>) -> Record<'static> {
    Record::String(StringRecord {
        id: StringId(id),
        text: text.into(),
    })
}

fn load() -> Record<'static> {
    Record::LoadClass(LoadClassRecord {
        serial: ClassSerial(1),
        class_object: ObjectId(0x10),
        trace: TraceSerial(1),
        name: StringId(1),
    })
}

fn frame(id: u64) -> Record<'static> {
    Record::Frame(FrameRecord {
        id: FrameId(id),
        method: StringId(1),
        signature: StringId(1),
        source_file: StringId(1),
        class: ClassSerial(1),
        line: Line::Unknown,
    })
}

fn file(name: &str, records: impl IntoIterator<Item = Record<'static>>) -> PathBuf {
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut out);
    for record in records {
        encoder.record(Micros(0), &record, &mut out);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, out).expect("the target directory can be written");
    path
}

/// Returns `true` if the file is printed within [`LIMIT`].
fn prints(path: &Path) -> bool {
    let status = Command::new("sh")
        .args(["-c", "ulimit -v $0 && exec \"$@\""])
        .arg(LIMIT.to_string())
        .args([env!("CARGO_BIN_EXE_hprof"), "text"])
        .arg(path)
        .stdout(Stdio::null())
        .status();
    status.expect("sh starts").success()
}

fn name() -> Record<'static> {
    string(1, "/n".repeat(NAME / 2).into_bytes())
}

#[test]
fn frames_share_their_names() {
    let records = [name(), load()].into_iter().chain((1..4_000).map(frame));
    assert!(prints(&file("frames", records)));
}

#[test]
fn a_traces_text_is_not_held_whole() {
    let trace = Record::Trace(TraceRecord {
        serial: TraceSerial(1),
        thread: ThreadSerial(0),
        frames: vec![FrameId(1); 1_000].into(),
    });
    assert!(prints(&file("trace", [name(), load(), frame(1), trace])));
}

#[test]
fn fields_and_classes_share_their_names() {
    let reference = Value::Object(ObjectId(0x10));
    let class = ClassDump {
        class: ObjectId(0x10),
        trace: TraceSerial(1),
        instance_size: 8 * 4_000,
        statics: vec![(StringId(1), reference); 1_000].into(),
        fields: vec![(StringId(1), BasicType::Object); 4_000].into(),
        ..ClassDump::default()
    };
    let mut content = Vec::new();
    HeapRecord::Class(class).write(&mut content);
    let other = ClassDump {
        class: ObjectId(0x10),
        ..ClassDump::default()
    };
    for _ in 0..2_000 {
        HeapRecord::Class(other.clone()).write(&mut content);
    }
    let content = content.into();
    let dump = [
        Record::HeapDumpSegment(HeapDumpSegmentRecord { content }),
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ];
    let records = [name(), load()].into_iter().chain(dump);
    assert!(prints(&file("fields", records)));
}
