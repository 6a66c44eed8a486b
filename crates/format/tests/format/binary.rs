use hprof_format::*;

use crate::common::{sample, site, trace};

fn body(record: &Record<'_>) -> Vec<u8> {
    bytes(Micros(0), record)[9..].to_vec()
}

fn bytes(time: Micros, record: &Record<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    BinaryEncoder::new().record(time, record, &mut out);
    out
}

#[test]
fn the_header_is_version_id_size_and_time() {
    let mut out = Vec::new();
    BinaryEncoder::new().start(Millis(0x0102_0304_0506_0708), &mut out);
    assert_eq!(
        out,
        b"JAVA PROFILE 1.0.2\0\0\0\0\x08\x01\x02\x03\x04\x05\x06\x07\x08"
    );
}

#[test]
fn a_record_is_tag_time_length_and_body() {
    let record = Record::String(StringRecord {
        id: StringId(0x0A0B),
        text: b"hot"[..].into(),
    });
    assert_eq!(
        bytes(Micros(0x0102_0304), &record),
        b"\x01\x01\x02\x03\x04\0\0\0\x0b\0\0\0\0\0\0\x0a\x0bhot"
    );
}

#[test]
fn records_are_appended() {
    let mut out = b"before".to_vec();
    let record = Record::EndThread(EndThreadRecord {
        serial: ThreadSerial(1),
    });
    BinaryEncoder::new().record(Micros(0), &record, &mut out);
    assert_eq!(out, b"before\x0b\0\0\0\0\0\0\0\x04\0\0\0\x01");
}

#[test]
fn the_time_wraps() {
    let record = Record::UnloadClass(UnloadClassRecord {
        serial: ClassSerial(1),
    });
    let wrapped = bytes(Micros((7 << 32) + 5), &record);
    assert_eq!(wrapped, b"\x03\0\0\0\x05\0\0\0\x04\0\0\0\x01");
}

#[test]
fn load_class() {
    let record = Record::LoadClass(LoadClassRecord {
        serial: ClassSerial(1),
        class_object: ObjectId(2),
        trace: TraceSerial(3),
        name: StringId(4),
    });
    assert_eq!(
        body(&record),
        b"\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x03\0\0\0\0\0\0\0\x04"
    );
}

#[test]
fn frames_carry_special_lines_as_negative_numbers() {
    let lines = [
        (Line::Number(258), [0, 0, 1, 2]),
        (Line::Number(i32::MAX as u32), [0x7f, 0xff, 0xff, 0xff]),
        (Line::Number(u32::MAX), [0x7f, 0xff, 0xff, 0xff]),
        (Line::Unknown, [0xff, 0xff, 0xff, 0xff]),
        (Line::Compiled, [0xff, 0xff, 0xff, 0xfe]),
        (Line::Native, [0xff, 0xff, 0xff, 0xfd]),
    ];
    for (line, expected) in lines {
        let record = Record::Frame(FrameRecord {
            id: FrameId(1),
            method: StringId(2),
            signature: StringId(3),
            source_file: StringId(4),
            class: ClassSerial(5),
            line,
        });
        let mut whole =
            b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\x05"
                .to_vec();
        whole.extend_from_slice(&expected);
        assert_eq!(body(&record), whole, "{line:?}");
    }
}

#[test]
fn traces_count_their_frames() {
    assert_eq!(
        body(&trace(1, 2, &[3, 4])),
        b"\0\0\0\x01\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04"
    );
    assert_eq!(
        body(&trace(300_000, 0, &[])),
        b"\0\x04\x93\xe0\0\0\0\0\0\0\0\0"
    );
}

#[test]
fn start_thread() {
    let record = Record::StartThread(StartThreadRecord {
        serial: ThreadSerial(1),
        object: ObjectId(2),
        trace: TraceSerial(3),
        name: StringId(4),
        group: StringId(5),
        parent_group: StringId(6),
    });
    assert_eq!(
        body(&record),
        b"\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x06"
    );
}

#[test]
fn cpu_samples() {
    let record = Record::CpuSamples(CpuSamplesRecord {
        total: 9,
        rows: vec![sample(5, 300_001), sample(4, 300_000)].into(),
    });
    assert_eq!(
        bytes(Micros(0), &record),
        b"\x0d\0\0\0\0\0\0\0\x18\0\0\0\x09\0\0\0\x02\0\0\0\x05\0\x04\x93\xe1\0\0\0\x04\0\x04\x93\xe0"
    );
}

#[test]
fn control_settings() {
    let record = Record::ControlSettings(ControlSettingsRecord {
        flags: CONTROL_CPU_SAMPLING,
        depth: 0x0104,
    });
    assert_eq!(
        bytes(Micros(0), &record),
        b"\x0e\0\0\0\0\0\0\0\x06\0\0\0\x02\x01\x04"
    );
}

#[test]
fn alloc_sites_are_cut_to_their_fields() {
    let record = Record::AllocSites(AllocSitesRecord {
        flags: SITES_BY_ALLOCATION,
        cutoff: 1.0,
        live_bytes: 1 << 32,
        live_instances: 2,
        allocated_bytes: 1 << 32,
        allocated_instances: 3,
        sites: vec![site(Some(BasicType::Long), 4, 5, [u64::MAX, 6, 1 << 40, 7])].into(),
    });
    assert_eq!(
        bytes(Micros(0), &record),
        b"\x06\0\0\0\0\0\0\0\x3b\0\x02\x3f\x80\0\0\xff\xff\xff\xff\0\0\0\x02\
          \0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x01\
          \x0b\0\0\0\x04\0\0\0\x05\xff\xff\xff\xff\0\0\0\x06\xff\xff\xff\xff\0\0\0\x07"
    );
}

#[test]
fn heap_summaries_are_cut_to_their_fields() {
    let record = Record::HeapSummary(HeapSummaryRecord {
        live_bytes: u64::MAX,
        live_instances: 1 << 32,
        allocated_bytes: u64::MAX,
        allocated_instances: 1,
    });
    assert_eq!(
        bytes(Micros(0), &record),
        b"\x07\0\0\0\0\0\0\0\x18\xff\xff\xff\xff\xff\xff\xff\xff\
          \xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x01"
    );
}
