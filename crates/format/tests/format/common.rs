//! Helpers shared by the tests.

use std::borrow::Cow;

use chrono::{DateTime, Local};
use hprof_format::*;

/// Fri Nov 20 10:39:11 2026 UTC.
pub const START: Millis = Millis(1_795_171_151_000);

/// A small profile with every kind of record, in the order in which an agent writes them.
pub fn profile() -> Vec<(Micros, Record<'static>)> {
    let records = vec![
        Record::ControlSettings(ControlSettingsRecord {
            flags: CONTROL_ALLOC_TRACES | CONTROL_CPU_SAMPLING,
            depth: 4,
        }),
        trace(300_000, 0, &[]),
        string(1, "Spin"),
        string(2, "hot"),
        string(3, "(J)V"),
        string(4, "Spin.java"),
        string(5, "main"),
        string(6, "system"),
        string(7, "int[]"),
        load_class(100_001, 1),
        load_class(100_002, 7),
        Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(200_001),
            object: ObjectId(0x5000_01c4),
            trace: TraceSerial(300_000),
            name: StringId(5),
            group: StringId(5),
            parent_group: StringId(6),
        }),
        frame(500_001, 2, Line::Number(4)),
        frame(500_002, 5, Line::Number(12)),
        trace(300_001, 0, &[500_001, 500_002]),
        trace(300_002, 200_001, &[500_002]),
        Record::CpuSamples(CpuSamplesRecord {
            total: 300,
            rows: vec![
                sample(200, 300_001),
                sample(70, 300_002),
                sample(30, 300_000),
            ]
            .into(),
        }),
        Record::AllocSites(AllocSitesRecord {
            flags: SITES_FORCED_GC,
            cutoff: 0.0001,
            live_bytes: 466_440,
            live_instances: 11_537,
            allocated_bytes: 500_000,
            allocated_instances: 12_000,
            sites: vec![
                site(None, 100_001, 300_001, [80_000, 5_000, 80_120, 5_001]),
                site(
                    Some(BasicType::Int),
                    100_002,
                    300_000,
                    [24_000, 300, 24_000, 300],
                ),
            ]
            .into(),
        }),
        Record::HeapSummary(HeapSummaryRecord {
            live_bytes: 466_440,
            live_instances: 11_537,
            allocated_bytes: 500_000,
            allocated_instances: 12_000,
        }),
        Record::UnloadClass(UnloadClassRecord {
            serial: ClassSerial(100_001),
        }),
        Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(200_001),
        }),
    ];
    (0..)
        .map(|index| Micros(index * 1_000_000))
        .zip(records)
        .collect()
}

pub fn string(id: u64, text: &'static str) -> Record<'static> {
    Record::String(StringRecord {
        id: StringId(id),
        text: Cow::Borrowed(text.as_bytes()),
    })
}

pub fn load_class(serial: u32, name: u64) -> Record<'static> {
    Record::LoadClass(LoadClassRecord {
        serial: ClassSerial(serial),
        class_object: ObjectId(0x5000_0001),
        trace: TraceSerial(300_000),
        name: StringId(name),
    })
}

pub fn frame(id: u64, method: u64, line: Line) -> Record<'static> {
    Record::Frame(FrameRecord {
        id: FrameId(id),
        method: StringId(method),
        signature: StringId(3),
        source_file: StringId(4),
        class: ClassSerial(100_001),
        line,
    })
}

pub fn trace(serial: u32, thread: u32, frames: &[u64]) -> Record<'static> {
    Record::Trace(TraceRecord {
        serial: TraceSerial(serial),
        thread: ThreadSerial(thread),
        frames: frames.iter().copied().map(FrameId).collect(),
    })
}

pub fn sample(count: u32, trace: u32) -> CpuSample {
    CpuSample {
        count,
        trace: TraceSerial(trace),
    }
}

/// `numbers`: live bytes and instances, allocated bytes and instances.
pub fn site(array_of: Option<BasicType>, class: u32, trace: u32, numbers: [u64; 4]) -> AllocSite {
    let [
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
    ] = numbers;
    AllocSite {
        array_of,
        class: ClassSerial(class),
        trace: TraceSerial(trace),
        live_bytes,
        live_instances,
        allocated_bytes,
        allocated_instances,
    }
}

/// Encodes a whole file in the encoder's format.
pub fn encode(mut encoder: impl Encoder, records: &[(Micros, Record<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.start(START, &mut out);
    for (time, record) in records {
        encoder.record(*time, record, &mut out);
    }
    out
}

/// Encodes a whole file in the binary format, all of its records at the same time.
pub fn binary(records: &[Record<'static>]) -> Vec<u8> {
    let records: Vec<_> = records
        .iter()
        .map(|record| (Micros(0), record.clone()))
        .collect();
    encode(BinaryEncoder::new(), &records)
}

/// Returns the text after the description of a text profile.
pub fn text_body(records: &[(Micros, Record<'_>)]) -> String {
    let text = String::from_utf8(encode(TextEncoder::new(), records)).expect("text is UTF-8");
    let (_, body) = text
        .split_once("\n--------\n\n")
        .expect("a line of dashes ends the head");
    body.to_owned()
}

/// Returns only the records, without their positions; they must all be readable.
pub fn records_of(file: &[u8]) -> Vec<(Micros, Record<'static>)> {
    let mut reader = Reader::new(file).expect("the header is right");
    let mut records = Vec::new();
    while let Some(entry) = reader.read().expect("every record is right") {
        if let Item::Record(record) = entry.item {
            records.push((entry.time, record.into_owned()));
        }
    }
    records
}

/// Reads until the first error or the end.
pub fn first_error(file: &[u8]) -> Option<ReadError> {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return Some(error),
    };
    loop {
        match reader.read() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// Formats a time in the layout of C's `ctime`, in the time zone of the tests.
pub fn ctime(micros: u64) -> String {
    let utc = DateTime::from_timestamp_millis((START.0 + micros / 1_000) as i64);
    let local = utc
        .expect("the moment is in the calendar")
        .with_timezone(&Local);
    local.format("%a %b %e %H:%M:%S %Y").to_string()
}

/// Builds a file with ids of four bytes by hand: no encoder writes them.
pub fn four_byte_file(records: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    for (tag, body) in records {
        file.push(*tag);
        file.extend_from_slice(&[0; 4]);
        file.extend_from_slice(&(body.len() as u32).to_be_bytes());
        file.extend_from_slice(body);
    }
    file
}

/// Encodes each number as a big-endian u4.
pub fn u4s(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
}
