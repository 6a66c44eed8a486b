//! A small file does not take much memory, whatever names it repeats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hprof_format::*;

/// The length of the long name, in bytes.
const NAME: usize = 100_000;

/// The kilobytes of address space that `hprof` may use; at its start, it uses a few thousand.
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
    let path = path(name);
    fs::write(&path, out).expect("the target directory can be written");
    path
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs `hprof` within [`LIMIT`].
fn limited(arguments: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -v $0 && exec \"$@\""])
        .arg(LIMIT.to_string())
        .arg(env!("CARGO_BIN_EXE_hprof"))
        .args(arguments)
        .output()
        .expect("sh starts")
}

/// Returns `true` if the file is printed within [`LIMIT`].
fn prints(path: &Path) -> bool {
    limited(&["text", path.to_str().expect("a name")])
        .status
        .success()
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

#[test]
fn a_value_that_would_need_two_billion_rows_is_not_merged() {
    let site = |bytes: u64| {
        format!(
            "JAVA PROFILE 1.0.1, created Sat Nov 21 21:18:12 2026\n\
             TRACE 300001:\n\
             \tAlloc.make(Alloc.java:13)\n\
             SITES BEGIN (ordered by live bytes) Sat Nov 21 21:18:12 2026\n\
             \u{20}         percent          live          alloc'ed  stack class\n\
             \u{20}rank   self  accum     bytes objs     bytes  objs trace name\n\
             \u{20}   1 100.00% 100.00% {bytes} 1 {bytes} 1 300001 byte[]\n\
             SITES END\n"
        )
    };
    let merge = |name: &str, bytes: u64| {
        let file = path(&format!("{name}.txt"));
        fs::write(&file, site(bytes)).expect("the target directory can be written");
        let out = path(&format!("{name}.hprof"));
        let _ = fs::remove_file(&out);
        let arguments = [
            "merge",
            "-o",
            out.to_str().expect("a name"),
            file.to_str().expect("a name"),
        ];
        let merged = limited(&arguments);
        let said = String::from_utf8_lossy(&merged.stderr).into_owned();
        (merged.status.code(), said, out)
    };
    let (status, said, out) = merge("exabytes", 1 << 63);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("too large for the binary format"), "{said}");
    assert!(said.lines().count() == 1 && !out.exists(), "{said}");
    // A thousand rows.
    let (status, said, out) = merge("terabytes", 4 << 40);
    assert_eq!(status, Some(0), "{said}");
    let out = out.to_str().expect("a name");
    let top = limited(&["top", "--json", "--value", "live-bytes", out]);
    let top = String::from_utf8_lossy(&top.stdout);
    assert!(top.contains(r#""total":4398046511104"#), "{top}");
}
