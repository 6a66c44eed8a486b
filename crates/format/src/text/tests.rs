use std::borrow::Cow;

use super::*;
use crate::record::{ObjectId, ThreadSerial};

fn start_thread(encoder: &mut TextEncoder, name: StringId) -> String {
    let mut out = Vec::new();
    let text = Cow::Borrowed(&b"worker"[..]);
    let serial = ThreadSerial(200_001);
    let records = [
        Record::String(StringRecord { id: name, text }),
        Record::StartThread(StartThreadRecord {
            serial,
            object: ObjectId(1),
            trace: TraceSerial(300_000),
            name,
            group: StringId(0),
            parent_group: StringId(0),
        }),
    ];
    for record in &records {
        encoder.record(Micros(0), record, &mut out);
    }
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_note_is_a_line_of_its_own() {
    let mut encoder = TextEncoder::new();
    let mut out = Vec::new();
    for note in ["sampled every 512 bytes", "two\nlines"] {
        let text = Cow::Borrowed(note.as_bytes());
        let note = Record::String(StringRecord {
            id: StringId::NOTE,
            text,
        });
        encoder.record(Micros(0), &note, &mut out);
    }
    assert_eq!(out, b"(sampled every 512 bytes)\n(two?lines)\n");
    assert!(encoder.names.strings() == 0);
}

#[test]
fn times_are_shares_of_all_time() {
    let mut encoder = TextEncoder::new();
    let mut out = Vec::new();
    let row = |calls, own, trace| TraceTime {
        calls,
        own,
        trace: TraceSerial(trace),
    };
    let timing = Timing::Traces {
        total: 2_000_600_000,
        calls: 12_345_678_904,
        rows: Cow::Owned(vec![
            row(3, 1_500_450_000, 300_007),
            row(12_345_678_901, 200_060_000, 300_001),
        ]),
    };
    encoder.timing(Micros(0), &timing, &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("CPU TIME (ms) BEGIN (total = 2001) "),
        "{text}"
    );
    assert_eq!(lines[1], "rank   self  accum   count trace method");
    assert_eq!(lines[2], "   1 75.00% 75.00%       3 300007 <unknown>");
    assert_eq!(lines[3], "   2 10.00% 85.00% 12345678901 300001 <unknown>");
    assert_eq!(lines[4..], ["CPU TIME (ms) END"]);
}

#[test]
fn names_that_are_used_once_are_not_kept() {
    let mut encoder = TextEncoder::new();
    let line = "THREAD START (obj=1, id = 200001, name=\"worker\", group=\"\")\n";
    assert_eq!(
        start_thread(&mut encoder, StringId(StringId::USED_ONCE + 9)),
        line
    );
    assert!(encoder.names.strings() == 0);
    assert_eq!(start_thread(&mut encoder, StringId(9)), line);
    assert_eq!(
        encoder.names.strings(),
        1,
        "another record may name this one"
    );
}
