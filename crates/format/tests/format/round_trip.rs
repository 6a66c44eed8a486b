use std::io::Cursor;

use hprof_format::*;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{encode, profile, records_of, text_body};

/// Generates a record of any kind, as the reader returns it: counts are within their fields.
fn record() -> impl Strategy<Value = Record<'static>> {
    let strings = (any::<u64>(), vec(any::<u8>(), 0..40)).prop_map(|(id, text)| {
        Record::String(StringRecord {
            id: StringId(id),
            text: text.into(),
        })
    });
    let classes = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u64>()).prop_map(
        |(serial, object, trace, name)| {
            Record::LoadClass(LoadClassRecord {
                serial: ClassSerial(serial),
                class_object: ObjectId(object),
                trace: TraceSerial(trace),
                name: StringId(name),
            })
        },
    );
    let unloads = any::<u32>().prop_map(|serial| {
        Record::UnloadClass(UnloadClassRecord {
            serial: ClassSerial(serial),
        })
    });
    let frames = (any::<[u64; 4]>(), any::<u32>(), line()).prop_map(
        |([id, method, signature, source_file], class, line)| {
            Record::Frame(FrameRecord {
                id: FrameId(id),
                method: StringId(method),
                signature: StringId(signature),
                source_file: StringId(source_file),
                class: ClassSerial(class),
                line,
            })
        },
    );
    let traces = (any::<u32>(), any::<u32>(), vec(any::<u64>(), 0..20)).prop_map(
        |(serial, thread, frames)| {
            Record::Trace(TraceRecord {
                serial: TraceSerial(serial),
                thread: ThreadSerial(thread),
                frames: frames.into_iter().map(FrameId).collect(),
            })
        },
    );
    let threads = (any::<u32>(), any::<u32>(), any::<[u64; 4]>()).prop_map(
        |(serial, trace, [object, name, group, parent_group])| {
            Record::StartThread(StartThreadRecord {
                serial: ThreadSerial(serial),
                object: ObjectId(object),
                trace: TraceSerial(trace),
                name: StringId(name),
                group: StringId(group),
                parent_group: StringId(parent_group),
            })
        },
    );
    let ends = any::<u32>().prop_map(|serial| {
        Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(serial),
        })
    });
    let samples = (any::<u32>(), vec(any::<(u32, u32)>(), 0..20)).prop_map(|(total, rows)| {
        let row = |(count, trace)| CpuSample {
            count,
            trace: TraceSerial(trace),
        };
        Record::CpuSamples(CpuSamplesRecord {
            total,
            rows: rows.into_iter().map(row).collect(),
        })
    });
    let settings = any::<(u32, u16)>()
        .prop_map(|(flags, depth)| Record::ControlSettings(ControlSettingsRecord { flags, depth }));
    let summaries = any::<(u32, u32, u64, u64)>().prop_map(|numbers| {
        Record::HeapSummary(HeapSummaryRecord {
            live_bytes: numbers.0.into(),
            live_instances: numbers.1.into(),
            allocated_bytes: numbers.2,
            allocated_instances: numbers.3,
        })
    });
    prop_oneof![
        strings,
        classes,
        unloads,
        frames,
        traces,
        threads,
        ends,
        samples,
        settings,
        summaries,
        alloc_sites(),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        (1..=i32::MAX as u32).prop_map(Line::Number),
        Just(Line::Unknown),
        Just(Line::Compiled),
        Just(Line::Native),
    ]
}

fn alloc_sites() -> impl Strategy<Value = Record<'static>> {
    let array_of = (0..=11_u8).prop_map(BasicType::from_byte);
    let site = (array_of, any::<[u32; 6]>()).prop_map(
        |(array_of, [class, trace, live_bytes, live_instances, bytes, instances])| AllocSite {
            array_of,
            class: ClassSerial(class),
            trace: TraceSerial(trace),
            live_bytes: live_bytes.into(),
            live_instances: live_instances.into(),
            allocated_bytes: bytes.into(),
            allocated_instances: instances.into(),
        },
    );
    (
        any::<u16>(),
        -1.0..2.0_f32,
        any::<[u32; 2]>(),
        any::<[u64; 2]>(),
        vec(site, 0..20),
    )
        .prop_map(|(flags, cutoff, live, allocated, sites)| {
            Record::AllocSites(AllocSitesRecord {
                flags,
                cutoff,
                live_bytes: live[0].into(),
                live_instances: live[1].into(),
                allocated_bytes: allocated[0],
                allocated_instances: allocated[1],
                sites: sites.into(),
            })
        })
}

/// Generates records whose times advance by up to half the range of the time field, as a reader can follow them.
fn records() -> impl Strategy<Value = Vec<(Micros, Record<'static>)>> {
    vec((0..1_u64 << 31, record()), 0..40).prop_map(|steps| {
        let mut time = 0;
        let timed = steps.into_iter().map(|(step, record)| {
            time += step;
            (Micros(time), record)
        });
        timed.collect()
    })
}

#[test]
fn the_example_comes_back() {
    let file = encode(BinaryEncoder::new(), &profile());
    assert_eq!(records_of(&file), profile());
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in records()) {
        let file = encode(BinaryEncoder::new(), &records);
        prop_assert_eq!(records_of(&file), records);
    }

    #[test]
    fn text_made_of_a_binary_file_is_the_text_of_its_records(records in records()) {
        let file = encode(BinaryEncoder::new(), &records);
        prop_assert_eq!(text_body(&records_of(&file)), text_body(&records));
    }

    #[test]
    fn a_damaged_file_ends_in_an_error_or_not_at_all(
        records in records(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut file = encode(BinaryEncoder::new(), &records);
        for (place, byte) in damage {
            let place = place.index(file.len());
            file[place] = byte;
        }
        if cut {
            file.truncate(length.index(file.len()));
        }
        read_on(&file);
        let _ = check(Cursor::new(&file));
    }

    #[test]
    fn any_bytes_after_a_header_can_be_read(
        id_size in prop_oneof![Just(4_u8), Just(8)],
        tail in vec(prop_oneof![0_u8..16, any::<u8>()], 0..400),
    ) {
        let mut file = b"JAVA PROFILE 1.0.3\0\0\0\0".to_vec();
        file.push(id_size);
        file.extend_from_slice(&[0; 8]);
        file.extend_from_slice(&tail);
        read_on(&file);
        let _ = check(Cursor::new(&file));
    }
}

/// Reads on after all errors that allow it; each call must consume bytes, so this ends.
fn read_on(file: &[u8]) {
    let Ok(mut reader) = Reader::new(file) else {
        return;
    };
    let mut encoder = TextEncoder::new();
    let mut text = Vec::new();
    for _ in 0..=file.len() {
        match reader.read() {
            Ok(Some(Entry {
                time,
                item: Item::Record(record),
                ..
            })) => {
                encoder.record(time, &record, &mut text);
            }
            Ok(None) => return,
            Ok(Some(_)) | Err(_) => {}
        }
    }
    panic!("the reader does not come to an end");
}
