//! Dumps of which a part is missing, and files that are none: each answer names it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hprof_format::{
    BasicType, BinaryEncoder, ClassDump, ClassSerial, Encoder, HeapDumpEndRecord,
    HeapDumpSegmentRecord, HeapRecord, LoadClassRecord, Micros, Millis, ObjectId, Record, Root,
    StringId, StringRecord, TraceSerial,
};
use hprof_testing::{run_in, stderr};
use serde_json::Value;
use tempfile::TempDir;

/// A dump of a class and an array, with the roots at the end.
fn dump() -> Vec<u8> {
    let mut content = Vec::new();
    for record in [
        HeapRecord::Class(ClassDump {
            class: ObjectId(0x700),
            ..ClassDump::default()
        }),
        HeapRecord::PrimitiveArray {
            object: ObjectId(0x800),
            trace: TraceSerial(0),
            element: BasicType::Byte,
            elements: &[7; 1_000],
        },
        HeapRecord::Root {
            object: ObjectId(0x800),
            root: Root::StickyClass,
        },
    ] {
        record.write(&mut content);
    }
    let mut bytes = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut bytes);
    for record in [
        Record::String(StringRecord {
            id: StringId(1),
            text: b"Point"[..].into(),
        }),
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(1),
            class_object: ObjectId(0x700),
            trace: TraceSerial(0),
            name: StringId(1),
        }),
        Record::HeapDumpSegment(HeapDumpSegmentRecord {
            content: content.into(),
        }),
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ] {
        encoder.record(Micros(0), &record, &mut bytes);
    }
    bytes
}

fn hprof(folder: &Path, arguments: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hprof"), arguments)
}

/// Returns a folder with the whole dump, and the one without its root and its end.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let whole = dump();
    fs::write(folder.path().join("whole.hprof"), &whole).expect("room for it");
    let cut = &whole[..whole.len() - 9 - 4];
    fs::write(folder.path().join("cut.hprof"), cut).expect("room for it");
    folder
}

#[test]
fn every_answer_about_a_cut_dump_says_so() {
    let folder = folder();
    for arguments in [
        &["heap", "summary", "cut.hprof"][..],
        &["heap", "summary", "cut.hprof", "--json"],
        &["heap", "histogram", "cut.hprof"],
        &["heap", "histogram", "cut.hprof", "--retained"],
        &["heap", "leaks", "cut.hprof"],
        &["heap", "retained", "cut.hprof", "--by", "object"],
        &["heap", "retained", "cut.hprof", "--by", "class"],
        &["heap", "paths", "cut.hprof", "--class", "byte[]"],
        &["heap", "who", "cut.hprof", "--class", "byte[]"],
        &["heap", "show", "cut.hprof", "0x800"],
        &["heap", "loaders", "cut.hprof"],
        &["heap", "diff", "whole.hprof", "cut.hprof"],
        &["heap", "diff", "cut.hprof", "whole.hprof"],
        &["heap", "index", "cut.hprof"],
        // An index does not make it whole.
        &["heap", "summary", "cut.hprof"],
        &["export", "cut.hprof", "--to", "parquet", "-o", "tables"],
    ] {
        let output = hprof(folder.path(), arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        let says = error.contains("cut.hprof: byte ") || arguments[0] == "export";
        assert!(says, "{arguments:?}: {error}");
        let is_answered = !output.stdout.is_empty() || arguments[0] == "export";
        assert!(is_answered, "{arguments:?}");
    }
    // What is not there may be in the part that is missing.
    let missing = hprof(folder.path(), &["heap", "show", "cut.hprof", "0x900"]);
    let missing = stderr(&missing);
    assert!(missing.contains("no object 0x900") && missing.contains("the dump was cut here"));
    let whole = hprof(folder.path(), &["heap", "summary", "whole.hprof"]);
    assert_eq!(
        (whole.status.code(), stderr(&whole)),
        (Some(0), String::new())
    );
}

#[test]
fn json_and_pages_say_what_is_missing() {
    let folder = folder();
    let summary = hprof(folder.path(), &["heap", "summary", "cut.hprof", "--json"]);
    let summary: Value = serde_json::from_slice(&summary.stdout).expect("JSON");
    let line = summary["incomplete"][0].as_str().expect("a line");
    assert!(line.contains("roots are missing"), "{line}");
    assert_eq!(summary["objects"], 2);
    let output = hprof(folder.path(), &["report", "cut.hprof", "-o", "page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn pieces_beside_a_cut_dump_are_named() {
    let folder = folder();
    for piece in ["cut.hprof.p0", "cut.hprof.p1"] {
        fs::write(folder.path().join(piece), "a piece").expect("room for it");
    }
    let error = stderr(&hprof(folder.path(), &["heap", "summary", "cut.hprof"]));
    let named = "cut.hprof.p0 to cut.hprof.p1 in the same folder are pieces of it";
    assert!(error.contains(named), "{error}");
}

#[test]
fn a_compressed_dump_that_ends_too_early_is_read_as_far_as_it_goes() {
    let folder = folder();
    let mut whole = dump();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut packed, &whole).expect("memory takes all");
    whole = packed.finish().expect("memory takes all");
    let cut = &whole[..whole.len() - 8 - 9 - 4];
    fs::write(folder.path().join("cut.hprof.gz"), cut).expect("room for it");
    let output = hprof(folder.path(), &["heap", "histogram", "cut.hprof.gz"]);
    assert_eq!(output.status.code(), Some(1));
    let (text, error) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(text.contains("byte[]"), "{text} {error}");
    assert!(error.contains("the dump was cut here"), "{error}");
}

#[test]
fn what_is_no_dump_is_named() {
    let folder = folder();
    for (content, what) in [
        (&b""[..], "is empty"),
        (b"PK\x03\x04rest", "is a zip archive"),
        (b"<html>", "is a web page"),
    ] {
        fs::write(folder.path().join("other"), content).expect("room for it");
        let output = hprof(folder.path(), &["heap", "leaks", "other"]);
        let error = stderr(&output);
        assert!(error.contains(what), "{error}");
        assert_eq!(output.status.code(), Some(1));
    }
}

/// A dump whose writer was killed between two segments.
#[test]
fn a_dump_without_its_end_is_not_printed_or_copied_as_if_it_were_whole() {
    let folder = folder();
    let whole = dump();
    let cut = &whole[..whole.len() - 9];
    fs::write(folder.path().join("cut.hprof"), cut).expect("room for it");
    for arguments in [
        &["text", "cut.hprof"][..],
        &["redact", "cut.hprof", "-o", "copy.hprof"],
    ] {
        let output = hprof(folder.path(), arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        let line = format!("cut.hprof: byte {}: the file ends before", cut.len());
        assert!(error.contains(&line), "{arguments:?}: {error}");
    }
    assert!(!folder.path().join("copy.hprof").exists());
}

/// Every command that writes a file, on a disk that is full.
#[test]
fn what_could_not_be_written_leaves_no_file() {
    let folder = folder();
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles/alloc.hprof.gz");
    let profile = profile.to_str().expect("UTF-8");
    for arguments in [
        &["merge", profile, profile][..],
        &["redact", profile],
        &["text", profile],
        &["report", profile],
        &["flame", profile],
        &["export", "--to", "json", profile],
        &["export", "--to", "pprof", profile],
    ] {
        let mut command = Command::new("sh");
        // The limit is the least that shells have, a block of 512 bytes.
        let output = command
            .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_hprof"))
            .args(arguments)
            .args(["-o", "made.html"])
            .current_dir(folder.path())
            .output()
            .expect("a shell");
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("File too large"), "{arguments:?}: {error}");
        assert!(!folder.path().join("made.html").exists(), "{arguments:?}");
    }
}

#[test]
fn a_copy_that_fails_leaves_no_file() {
    let folder = folder();
    let output = hprof(folder.path(), &["redact", "cut.hprof", "-o", "copy.hprof"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!folder.path().join("copy.hprof").exists());
    let output = hprof(
        folder.path(),
        &["redact", "whole.hprof", "-o", "copy.hprof"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.path().join("copy.hprof").exists());
}
