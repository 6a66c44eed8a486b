//! Habits of old tools are warnings, and faults only in strict mode.

use std::io::Cursor;

use hprof_format::*;

use crate::common::{binary, frame, profile, string, trace};
use crate::heap_check::{before, file_of, sound};

/// Returns the warnings of `check_tolerantly`, and the offset of the fault of `check`.
fn judged(file: &[u8]) -> (Vec<(Warning, u64, u64)>, u64) {
    let summary = check_tolerantly(Cursor::new(file)).expect("nothing else is wrong");
    let warnings = summary.warnings.into_iter();
    let fault = check(Cursor::new(file)).expect_err("the strict rules are broken");
    (
        warnings
            .map(|(warning, Occurrences { count, first })| (warning, count, first))
            .collect(),
        fault.offset(),
    )
}

#[test]
fn a_thread_that_was_never_started_is_a_warning() {
    let sound: Vec<_> = profile().into_iter().map(|(_, record)| record).collect();
    let ended = Record::EndThread(EndThreadRecord {
        serial: ThreadSerial(200_009),
    });
    let traces = [300_009, 300_010].map(|serial| trace(serial, 200_009, &[]));
    for bad in [traces, [ended.clone(), ended]] {
        let first = binary(&sound).len() as u64;
        let file = binary(&[&sound[..], &bad[..]].concat());
        let warnings = vec![(Warning::ThreadNotStarted, 2, first)];
        assert_eq!(judged(&file), (warnings, first));
    }
}

#[test]
fn a_root_of_a_thread_that_was_never_started_is_a_warning() {
    let mut dump = sound();
    let root = |thread| HeapRecord::Root {
        object: ObjectId(0x7_0000_1000),
        root: Root::Thread {
            thread: ThreadSerial(thread),
            trace: TraceSerial(300_001),
        },
    };
    dump.extend([root(200_009), root(200_010)]);
    let (file, offsets) = file_of(&before(), &dump);
    let first = offsets[dump.len() - 2];
    let warnings = vec![(Warning::ThreadNotStarted, 2, first)];
    assert_eq!(judged(&file), (warnings, first));
}

#[test]
fn an_element_that_is_not_dumped_is_a_warning() {
    // Arrays longer than this come in pieces.
    for length in [8, 64 * 1024] {
        let mut elements = vec![0; length];
        elements[7] = 1;
        elements[length - 1] = 2;
        let mut dump = sound();
        dump.push(HeapRecord::ObjectArray {
            object: ObjectId(0x7_0000_4000),
            trace: TraceSerial(300_001),
            class: ObjectId(0x7_0000_0200),
            elements: &elements,
        });
        let (file, offsets) = file_of(&before(), &dump);
        let first = offsets[dump.len() - 1];
        let count = if length == 8 { 1 } else { 2 };
        let warnings = vec![(Warning::ElementNotDumped, count, first)];
        assert_eq!(judged(&file), (warnings, first));
    }
}

#[test]
fn a_record_that_comes_again_is_a_warning() {
    let sound: Vec<_> = profile().into_iter().map(|(_, record)| record).collect();
    let first = binary(&sound).len() as u64;
    let again = [
        string(1, "Spin"),
        frame(500_001, 2, Line::Number(4)),
        trace(300_001, 0, &[500_001, 500_002]),
    ];
    let file = binary(&[&sound[..], &again].concat());
    let warnings = vec![(Warning::Repeated, 3, first)];
    assert_eq!(judged(&file), (warnings, first));
}

/// Agents gave all notes of a file one id.
#[test]
fn notes_of_one_id_are_a_warning() {
    let note = |number, text: &'static str| {
        Record::String(StringRecord {
            id: StringId::note(number),
            text: text.as_bytes().into(),
        })
    };
    let mut records: Vec<_> = profile().into_iter().map(|(_, record)| record).collect();
    records.extend([note(0, "this"), note(1, "that")]);
    check(Cursor::new(binary(&records))).expect("each note has an id of its own");
    let first = binary(&records).len() as u64;
    records.extend([note(0, "another"), note(1, "that")]);
    let warnings = vec![(Warning::Repeated, 2, first)];
    assert_eq!(judged(&binary(&records)), (warnings, first));
}

/// Returns the records before a dump in the file of a VM's dumper: no settings.
fn before_of_a_dumper() -> Vec<Record<'static>> {
    before().split_off(1)
}

/// Asserts that a fault in this project's files is a warning in others'.
fn assert_warned_of(warning: Warning, dump: &[HeapRecord<'_>], bad: usize) {
    let (file, offsets) = file_of(&before_of_a_dumper(), dump);
    let first = offsets[bad];
    assert_eq!(judged(&file), (vec![(warning, 1, first)], first));
    let (ours, offsets) = file_of(&before(), dump);
    let fault =
        check_tolerantly(Cursor::new(ours)).expect_err("this project's agent keeps the rule");
    assert_eq!(fault.offset(), offsets[bad]);
}

#[test]
fn a_class_that_misstates_the_size_of_its_instances_is_a_warning() {
    for wrong in [0, 4, 16] {
        let mut dump = sound();
        let stated = dump
            .iter_mut()
            .enumerate()
            .find_map(|(index, record)| match record {
                HeapRecord::Class(class) if class.instance_size == 12 => {
                    Some((index, &mut class.instance_size))
                }
                _ => None,
            });
        let (bad, stated) = stated.expect("a class with fields");
        *stated = wrong;
        assert_warned_of(Warning::InstanceSize, &dump, bad);
    }
}

#[test]
fn a_global_reference_to_what_is_not_dumped_is_a_warning() {
    let mut dump = sound();
    dump.push(HeapRecord::Root {
        object: ObjectId(0x7_0000_8000),
        root: Root::JniGlobal { reference: 0x10 },
    });
    assert_warned_of(Warning::GlobalNotDumped, &dump, dump.len() - 1);
    // Any other root is refused.
    dump.push(HeapRecord::Root {
        object: ObjectId(0x7_0000_9000),
        root: Root::StickyClass,
    });
    let (file, offsets) = file_of(&before_of_a_dumper(), &dump);
    let fault = check_tolerantly(Cursor::new(file)).expect_err("no writer does this");
    assert_eq!(fault.offset(), offsets[dump.len() - 1]);
}

#[test]
fn unloading_a_class_that_is_not_loaded_is_a_warning() {
    let unload = Record::UnloadClass(UnloadClassRecord {
        serial: ClassSerial(100_009),
    });
    let records = before_of_a_dumper();
    let first = binary(&records).len() as u64;
    let file = binary(&[&records[..], &[unload.clone(), unload.clone()]].concat());
    let warnings = vec![(Warning::ClassNotLoaded, 2, first)];
    assert_eq!(judged(&file), (warnings, first));
    let ours = binary(&[before(), vec![unload]].concat());
    check_tolerantly(Cursor::new(ours)).expect_err("this project's agent keeps the rule");
}

#[test]
fn other_faults_are_faults_for_everybody() {
    let sound_records: Vec<_> = profile().into_iter().map(|(_, record)| record).collect();
    let twice = Record::EndThread(EndThreadRecord {
        serial: ThreadSerial(200_001),
    });
    let ended_twice = binary(&[&sound_records[..], &[twice][..]].concat());
    let no_frame = binary(&[&sound_records[..], &[trace(300_009, 0, &[9])][..]].concat());
    let mut dump = sound();
    dump.push(HeapRecord::Instance {
        object: ObjectId(0x7_0000_4000),
        trace: TraceSerial(300_001),
        class: ObjectId(0x7_0000_0100),
        fields: b"\0\0\0\x01\0\0\0\0\0\0\x01\x23",
    });
    let (no_field, _) = file_of(&before(), &dump);
    for file in [ended_twice, no_frame, no_field] {
        let strict = check(Cursor::new(&file)).expect_err("it is a fault");
        let tolerant = check_tolerantly(Cursor::new(&file)).expect_err("it is a fault");
        assert_eq!(tolerant.to_string(), strict.to_string());
    }
}

#[test]
fn a_sound_file_has_no_warning() {
    let (file, _) = file_of(&before(), &sound());
    let summary = check_tolerantly(Cursor::new(&file)).expect("the dump is sound");
    assert_eq!(summary.warnings.len(), 0);
    assert_eq!(
        summary,
        check(Cursor::new(&file)).expect("the dump is sound")
    );
}
