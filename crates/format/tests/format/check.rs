use std::collections::BTreeMap;

use std::io::Cursor;

use hprof_format::*;

use crate::common::*;

/// Returns the fault that `last` causes after the example, which is valid; asserts that it is at that record.
fn fault_of(last: &[Record<'static>]) -> Fault {
    let sound: Vec<_> = profile().into_iter().map(|(_, record)| record).collect();
    let (bad, good) = last
        .split_last()
        .expect("there is a record to find fault with");
    let before = binary(&[sound.as_slice(), good].concat());
    check(Cursor::new(&before)).expect("what comes before is sound");
    let file = binary(&[&sound[..], good, std::slice::from_ref(bad)].concat());
    let fault = check(Cursor::new(&file)).expect_err("the last record is not sound");
    assert_eq!(fault.offset(), before.len() as u64);
    fault
}

/// Returns the fault's message without the `byte N: ` at its beginning.
fn message_of(last: &[Record<'static>]) -> String {
    let fault = fault_of(last);
    let message = fault.to_string();
    let place = format!("byte {}: ", fault.offset());
    message
        .strip_prefix(&place)
        .expect("messages start with the place")
        .to_owned()
}

fn start_thread(serial: u32, trace: u32, strings: [u64; 3]) -> Record<'static> {
    Record::StartThread(StartThreadRecord {
        serial: ThreadSerial(serial),
        object: ObjectId(0x5000_01c4),
        trace: TraceSerial(trace),
        name: StringId(strings[0]),
        group: StringId(strings[1]),
        parent_group: StringId(strings[2]),
    })
}

fn alloc_sites(sites: Vec<AllocSite>) -> Record<'static> {
    Record::AllocSites(AllocSitesRecord {
        flags: 0,
        cutoff: 0.0,
        live_bytes: 0,
        live_instances: 0,
        allocated_bytes: 0,
        allocated_instances: 0,
        sites: sites.into(),
    })
}

fn cpu_samples(total: u32, rows: Vec<CpuSample>) -> Record<'static> {
    Record::CpuSamples(CpuSamplesRecord {
        total,
        rows: rows.into(),
    })
}

fn end_thread(serial: u32) -> Record<'static> {
    Record::EndThread(EndThreadRecord {
        serial: ThreadSerial(serial),
    })
}

fn unload_class(serial: u32) -> Record<'static> {
    Record::UnloadClass(UnloadClassRecord {
        serial: ClassSerial(serial),
    })
}

#[test]
fn a_sound_file_is_counted() {
    let mut file = encode(BinaryEncoder::new(), &profile());
    file.extend_from_slice(
        b"\x1c\0\0\0\0\0\0\0\x09\xff\0\0\0\0\0\0\0\0\x1c\0\0\0\0\0\0\0\0\x2c\0\0\0\0\0\0\0\0",
    );
    let summary = check(Cursor::new(&file)).expect("the file is sound");
    let expected = BTreeMap::from([
        (RecordKind::String, 7),
        (RecordKind::LoadClass, 2),
        (RecordKind::UnloadClass, 1),
        (RecordKind::Frame, 2),
        (RecordKind::Trace, 3),
        (RecordKind::AllocSites, 1),
        (RecordKind::HeapSummary, 1),
        (RecordKind::StartThread, 1),
        (RecordKind::EndThread, 1),
        (RecordKind::CpuSamples, 1),
        (RecordKind::ControlSettings, 1),
        (RecordKind::HeapDumpSegment, 2),
        (RecordKind::HeapDumpEnd, 1),
    ]);
    assert_eq!(summary.records, expected);
    assert_eq!(summary.heap_dump_bytes, 9);
    assert_eq!(summary.heap_dumps, 1);
    let roots = BTreeMap::from([(HeapKind::RootUnknown, 1)]);
    assert_eq!(summary.heap_records, roots);
    assert_eq!(summary.bytes, file.len() as u64);
    assert_eq!(
        summary.header,
        Header {
            version: Version::V1_0_2,
            id_size: IdSize::Eight,
            time: START
        }
    );
}

#[test]
fn names_must_stand_before_their_use() {
    let mut frame_with = frame(500_009, 77, Line::Unknown);
    assert_eq!(
        message_of(&[frame_with.clone()]),
        "FRAME 500009 names string 77, which is not in the file before it"
    );
    let Record::Frame(FrameRecord {
        method,
        signature,
        source_file,
        class,
        ..
    }) = &mut frame_with
    else {
        unreachable!("frame() makes frames");
    };
    (*method, *signature, *source_file, *class) =
        (StringId(2), StringId(3), StringId(0), ClassSerial(9));
    let end = "which is not in the file before it";
    let cases = [
        (frame_with, "FRAME 500009 names class 9"),
        (load_class(100_009, 77), "LOAD CLASS 100009 names string 77"),
        (load_class(100_009, 0), "LOAD CLASS 100009 names string 0"),
        (
            trace(300_009, 0, &[500_001, 9]),
            "TRACE 300009 names frame 9",
        ),
        (
            trace(300_009, 200_009, &[]),
            "TRACE 300009 names thread 200009",
        ),
        (
            start_thread(200_009, 300_009, [5, 5, 6]),
            "START THREAD 200009 names trace 300009",
        ),
        (
            start_thread(200_009, 300_000, [77, 5, 6]),
            "START THREAD 200009 names string 77",
        ),
        (
            start_thread(200_009, 300_000, [5, 77, 6]),
            "START THREAD 200009 names string 77",
        ),
        (
            start_thread(200_009, 300_000, [5, 5, 77]),
            "START THREAD 200009 names string 77",
        ),
        (
            cpu_samples(5, vec![sample(1, 300_001), sample(1, 9)]),
            "CPU SAMPLES names trace 9",
        ),
        (
            alloc_sites(vec![site(None, 9, 300_001, [0; 4])]),
            "ALLOC SITES names class 9",
        ),
        (
            alloc_sites(vec![site(None, 100_001, 9, [0; 4])]),
            "ALLOC SITES names trace 9",
        ),
    ];
    for (record, start) in cases {
        assert_eq!(message_of(&[record]), format!("{start}, {end}"));
    }
    let mut class = load_class(100_009, 1);
    if let Record::LoadClass(LoadClassRecord { trace, .. }) = &mut class {
        *trace = TraceSerial(9);
    }
    assert_eq!(
        message_of(&[class]),
        format!("LOAD CLASS 100009 names trace 9, {end}")
    );
}

#[test]
fn what_may_be_absent_is_no_fault() {
    let mut no_source = frame(500_009, 2, Line::Native);
    if let Record::Frame(FrameRecord { source_file, .. }) = &mut no_source {
        *source_file = StringId(0);
    }
    // The class was unloaded in the example; its frames may still be named and written.
    let records = [
        no_source,
        start_thread(200_009, 300_000, [5, 0, 0]),
        trace(300_009, 0, &[500_009]),
        trace(300_010, 200_000, &[500_009]),
        trace(300_011, 200_001, &[500_009]),
        alloc_sites(vec![site(None, 0, 300_009, [1; 4])]),
        cpu_samples(
            u32::MAX,
            vec![sample(u32::MAX, 300_009), sample(1, 300_010)],
        ),
        // Classes and threads may be repeated.
        load_class(100_002, 7),
        start_thread(200_009, 300_000, [5, 0, 0]),
    ];
    // The last record here is bad, so that those before it must be good.
    fault_of(&[&records[..], &[end_thread(9)]].concat());
}

#[test]
fn an_id_has_one_content() {
    let cases = [
        (string(1, "other"), "STRING 1"),
        (load_class(100_002, 1), "LOAD CLASS 100002"),
        (frame(500_001, 2, Line::Number(5)), "FRAME 500001"),
        (trace(300_001, 0, &[500_002, 500_001]), "TRACE 300001"),
        (trace(300_001, 200_001, &[500_001, 500_002]), "TRACE 300001"),
        (
            start_thread(200_001, 300_000, [6, 5, 6]),
            "START THREAD 200001",
        ),
    ];
    for (record, subject) in cases {
        let expected = format!("{subject} is in the file before it with other content");
        assert_eq!(message_of(&[record]), expected);
    }
}

#[test]
fn an_id_is_given_once() {
    let cases = [
        (string(1, "Spin"), "STRING 1"),
        (frame(500_001, 2, Line::Number(4)), "FRAME 500001"),
        (trace(300_001, 0, &[500_001, 500_002]), "TRACE 300001"),
    ];
    for (record, subject) in cases {
        let expected = format!("{subject} is in the file before it");
        assert_eq!(message_of(&[record]), expected);
    }
}

#[test]
fn what_ends_must_have_begun() {
    let class = "UNLOAD CLASS 100009: that class is not loaded here";
    assert_eq!(message_of(&[unload_class(100_009)]), class);
    assert!(matches!(
        fault_of(&[unload_class(100_002), unload_class(100_002)]),
        Fault::NotLoaded {
            class: ClassSerial(100_002),
            ..
        }
    ));
    let thread = "END THREAD 200009: that thread is not running here";
    assert_eq!(message_of(&[end_thread(200_009)]), thread);
    let again = start_thread(200_001, 300_000, [5, 5, 6]);
    assert!(matches!(
        fault_of(&[again, end_thread(200_001), end_thread(200_001)]),
        Fault::NotRunning {
            thread: ThreadSerial(200_001),
            ..
        }
    ));
}

#[test]
fn rows_are_part_of_the_total() {
    let rows = vec![sample(5, 300_001), sample(4, 300_002)];
    assert_eq!(
        message_of(&[cpu_samples(9, rows.clone()), cpu_samples(8, rows)]),
        "CPU SAMPLES has rows of 9 samples in all, but says that there are 8"
    );
}

#[test]
fn a_file_that_was_cut_off_is_told_apart() {
    let whole = encode(BinaryEncoder::new(), &profile());
    let mut file = whole.clone();
    file.extend_from_slice(b"\x01\0\0\0\0\0\0\0\x10\0\0\0");
    let fault = check(Cursor::new(&file)).expect_err("the file is cut");
    let Fault::Read(ReadError::Truncated { offset, missing }) = fault else {
        panic!("{fault}");
    };
    assert_eq!((offset, missing), (whole.len() as u64, 13));
    assert_eq!(
        fault.to_string(),
        format!(
            "byte {offset}: the file ends inside the record that starts here, as when the program was \
             killed; 13 or more bytes are missing, every record before this byte is whole"
        )
    );
}

#[test]
fn an_unknown_tag_is_a_fault() {
    let file = four_byte_file(&[(0x7a, b"abc")]);
    let fault = check(Cursor::new(&file)).expect_err("there is no such tag");
    assert_eq!(fault.to_string(), "byte 31: unknown tag 0x7A");
}

#[test]
fn the_jdk_agents_omissions_are_no_faults() {
    let mut site = vec![0; 34 + 25];
    site[33] = 1;
    site[35..39].copy_from_slice(&100_839_u32.to_be_bytes());
    site[39..43].copy_from_slice(&300_001_u32.to_be_bytes());
    let file = four_byte_file(&[
        (0x0e, b"\0\0\0\x01\0\x04"),
        (0x01, b"\0\0\0\x01Spin"),
        (0x02, &u4s(&[100_001, 0x5000_0001, 300_000, 1])),
        (0x0a, &u4s(&[200_001, 0x5000_01c4, 300_000, 1, 1, 0])),
        (0x0b, &u4s(&[200_001])),
        (0x0b, &u4s(&[200_002])),
        (0x05, &u4s(&[300_001, 0, 0])),
        (0x06, &site),
    ]);
    check(Cursor::new(&file)).expect("the JDK's agent leaves this out");
    let ended_twice = [
        &file[..],
        &four_byte_file(&[(0x0b, &u4s(&[200_001]))])[31..],
    ]
    .concat();
    let fault = check(Cursor::new(&ended_twice)).expect_err("it was started, and has ended");
    assert_eq!(fault.offset(), file.len() as u64);
}

#[test]
fn the_heap_dumpers_omissions_are_no_faults() {
    let records: [(u8, &[u8]); 3] = [
        (0x01, b"\0\0\0\x01Spin"),
        (0x02, &u4s(&[1, 0x5000_0001, 1, 1])),
        (0x05, &u4s(&[1, 7, 0])),
    ];
    check(Cursor::new(four_byte_file(&records))).expect("a trace comes later, its thread never");
    let settings: (u8, &[u8]) = (0x0e, b"\0\0\0\x01\0\x04");
    let by_an_agent = [&[settings][..], &records].concat();
    check(Cursor::new(four_byte_file(&by_an_agent))).expect_err("an agent writes its threads");
}
