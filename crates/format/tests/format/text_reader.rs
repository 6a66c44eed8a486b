//! Text profiles read back: into the records that print them.

use std::fs;
use std::path::Path;

use hprof_format::*;

/// The file as it prints again, from its first record on.
fn printed_again(text: &[u8]) -> Result<String, TextError> {
    let mut reader = TextReader::new(text)?;
    let mut encoder: Box<dyn Encoder> = match reader.is_old_prof() {
        true => Box::new(OldProfEncoder::new()),
        false => Box::new(TextEncoder::new()),
    };
    let mut out = Vec::new();
    encoder.start(reader.time(), &mut out);
    let head = out.len();
    while let Some(entry) = reader.read()? {
        match &entry.item {
            TextItem::Record(record) => encoder.record(entry.time, record, &mut out),
            TextItem::Monitor(record) => encoder.monitor(entry.time, record, &mut out),
            TextItem::Timing(timing) => encoder.timing(entry.time, timing, &mut out),
            TextItem::HeapDump { .. } => {}
        }
    }
    Ok(String::from_utf8(out.split_off(head)).expect("the encoders write UTF-8"))
}

/// The records of a file, without its heap dumps, which are not kept.
fn records(text: &str) -> String {
    let head = text.find("--------\n\n").map(|at| at + 10);
    // An excerpt begins with its first whole trace, a file in the old prof format at once.
    let start = head.or(text.find("TRACE ")).unwrap_or(0);
    let mut within_dump = false;
    let kept = text[start..].lines().filter(|line| {
        within_dump |= line.starts_with("HEAP DUMP BEGIN");
        let kept = !within_dump;
        within_dump &= *line != "HEAP DUMP END";
        kept
    });
    kept.map(|line| format!("{line}\n")).collect()
}

fn texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format/texts");
    let files = fs::read_dir(folder).expect("it is in the repository");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read_to_string(entry.path()).expect("it is text"))
    };
    files
        .map(|entry| read(entry.expect("it is in the repository")))
        .collect()
}

#[test]
fn every_text_prints_again_as_it_was() {
    for (name, text) in texts() {
        let again =
            printed_again(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = records(&text);
        for (number, (again, line)) in again.lines().zip(expected.lines()).enumerate() {
            assert_eq!(again, line, "{name}, record line {number}");
        }
        assert_eq!(again.len(), expected.len(), "{name}");
    }
}
