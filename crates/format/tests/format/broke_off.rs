//! A heap dump that broke off is marked as such.

use std::borrow::Cow;
use std::io::Cursor;
use std::slice;

use hprof_format::*;

use crate::common::{START, binary, ctime, text_body};
use crate::heap_check::{before, sound};

fn broke_off(reason: &'static str) -> Record<'static> {
    Record::String(StringRecord {
        id: StringId::BROKE_OFF,
        text: Cow::Borrowed(reason.as_bytes()),
    })
}

fn segment() -> Record<'static> {
    segment_of(&sound()[..4])
}

fn segment_of(records: &[HeapRecord<'_>]) -> Record<'static> {
    let mut content = Vec::new();
    for record in records {
        record.write(&mut content);
    }
    Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    })
}

#[test]
fn a_dump_that_broke_off_is_a_fault_of_the_file() {
    let before = before();
    let start = binary(&before).len();
    for (dump, expected) in [
        (
            vec![segment(), broke_off("No space\u{1b}[31m left")],
            "the heap dump that starts here broke off: No space?[31m left",
        ),
        (
            vec![broke_off("the VM said 112")],
            "a heap dump broke off before its first record: the VM said 112",
        ),
    ] {
        let file = binary(&[&before[..], &dump].concat());
        for judge in [check, check_tolerantly] {
            let fault = judge(Cursor::new(&file)).expect_err("a part is missing");
            assert_eq!(fault.to_string(), format!("byte {start}: {expected}"));
            assert_eq!(fault.offset(), start as u64);
        }
    }
}

#[test]
fn the_text_says_that_a_dump_broke_off_and_goes_on() {
    let mut records = before();
    records.extend([
        segment(),
        broke_off("No space left\non device"),
        segment(),
        Record::HeapDumpEnd(HeapDumpEndRecord),
        broke_off("nothing to write"),
    ]);
    let records: Vec<_> = records.into_iter().map(|r| (Micros(0), r)).collect();
    let text = text_body(&records);
    let begin = format!("HEAP DUMP BEGIN (0 objects, 0 bytes) {}", ctime(0));
    let marks: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("HEAP DUMP"))
        .collect();
    assert_eq!(
        marks,
        [
            &begin,
            "HEAP DUMP BROKE OFF (No space left?on device)",
            &begin,
            "HEAP DUMP END",
            "HEAP DUMP BROKE OFF (nothing to write)",
        ]
    );
    assert_eq!(text.matches("\nCLS 700000000 ").count(), 2);
    // The old prof format has no dumps.
    let mut out = Vec::new();
    let mut old = OldProfEncoder::new();
    old.start(START, &mut out);
    old.record(Micros(0), &broke_off("nothing to write"), &mut out);
    assert_eq!(out, b"");
}

#[test]
fn a_dump_that_was_announced_must_be_there() {
    let announcement = Record::ControlSettings(ControlSettingsRecord {
        flags: CONTROL_HEAP_DUMP_FOLLOWS,
        depth: 4,
    });
    let dump = [segment_of(&sound()), Record::HeapDumpEnd(HeapDumpEndRecord)];
    // In the file's header, or before a dump that was requested later.
    let mut head = before();
    head[0] = announcement.clone();
    let later = [before(), vec![announcement.clone()]].concat();
    for (announced, at) in [(head, binary(&[]).len()), (later, binary(&before()).len())] {
        for judge in [check, check_tolerantly] {
            let fault = judge(Cursor::new(binary(&announced))).expect_err("the dump is missing");
            assert_eq!(fault.offset(), at as u64);
            let expected =
                format!("byte {at}: a heap dump is announced here and is not in the file");
            assert!(fault.to_string().starts_with(&expected), "{fault}");
            let whole = [&announced[..], &dump].concat();
            judge(Cursor::new(binary(&whole))).expect("the dump is there");
            let broken = [&announced[..], &[broke_off("no room")]].concat();
            let fault = judge(Cursor::new(binary(&broken))).expect_err("it broke off");
            assert!(
                fault.to_string().ends_with("its first record: no room"),
                "{fault}"
            );
            // After one dump another one is announced.
            let two = [&whole[..], slice::from_ref(&announcement)].concat();
            judge(Cursor::new(binary(&two))).expect_err("the second one is missing");
            let withdrawn = Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 4 });
            let without = [&announced[..], slice::from_ref(&withdrawn)].concat();
            judge(Cursor::new(binary(&without))).expect("it was said that none comes");
        }
    }
}
