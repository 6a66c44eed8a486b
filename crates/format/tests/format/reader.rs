use std::borrow::Cow;
use std::io::{self, Read};

use hprof_format::*;

use crate::common::*;

/// The size of a header: the version, the size of ids, the time.
const HEADER: usize = 19 + 4 + 8;

fn header_error(file: &[u8]) -> ReadError {
    Reader::new(file)
        .map(|reader| reader.header())
        .expect_err("the header is wrong")
}

#[test]
fn the_header_is_read() {
    for (digit, version) in [
        (b'1', Version::V1_0_1),
        (b'2', Version::V1_0_2),
        (b'3', Version::V1_0_3),
    ] {
        for (size, id_size) in [(4, IdSize::Four), (8, IdSize::Eight)] {
            let mut file = b"JAVA PROFILE 1.0.x\0\0\0\0\0\0\0\x01\xa1\xf8\x8a\x06\x31".to_vec();
            file[17] = digit;
            file[22] = size;
            let reader = Reader::new(file.as_slice()).expect("the header is right");
            let time = Millis(417 << 32 | 0xf88a_0631);
            assert_eq!(
                reader.header(),
                Header {
                    version,
                    id_size,
                    time
                }
            );
        }
    }
}

#[test]
fn what_is_no_hprof_file_is_refused() {
    for (file, offset) in [
        (&b""[..], 0),
        (b"PK\x03\x04", 0),
        (b"JAVA PROF", 9),
        (b"JAVA profile 1.0.1", 5),
    ] {
        let error = header_error(file);
        assert!(
            matches!(error, ReadError::NotHprof { offset: at } if at == offset),
            "{error}"
        );
    }
    let error = header_error(b"JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n");
    assert!(
        matches!(error, ReadError::TextFormat { offset: 18 }),
        "{error}"
    );
    let error = header_error(b"JAVA PROFILE 1.0.4\0\0\0\0\x08\0\0\0\0\0\0\0\0");
    assert!(
        matches!(error, ReadError::UnknownVersion { offset: 13 }),
        "{error}"
    );
    let error = header_error(b"JAVA PROFILE 1.0.2\0\0\0\0\x06\0\0\0\0\0\0\0\0");
    assert!(
        matches!(
            error,
            ReadError::IdSize {
                offset: 19,
                size: 6
            }
        ),
        "{error}"
    );
}

#[test]
fn a_cut_header_is_told_from_another_file() {
    let file = binary(&[]);
    for length in 13..HEADER {
        let error = header_error(&file[..length]);
        let (at, gap) = (length as u64, (HEADER - length) as u64);
        assert!(
            matches!(error, ReadError::TruncatedHeader { offset, missing } if offset == at && missing == gap),
            "{error}"
        );
    }
    assert!(first_error(&file).is_none());
}

#[test]
fn ids_of_four_bytes_are_read() {
    let file = four_byte_file(&[
        (0x01, b"\xa0\0\0\x01java.util.HashMap"),
        (0x02, &u4s(&[100_001, 0x5000_0001, 300_000, 0xa000_0001])),
        (0x04, &u4s(&[1, 2, 3, 4, 100_001, 0])),
        (0x05, &u4s(&[300_001, 0, 2, 1, 1])),
        (0x0a, &u4s(&[200_001, 0x5000_01c4, 300_000, 5, 6, 0])),
    ]);
    let records: Vec<_> = records_of(&file)
        .into_iter()
        .map(|(_, record)| record)
        .collect();
    assert_eq!(
        records,
        [
            string(0xa000_0001, "java.util.HashMap"),
            load_class(100_001, 0xa000_0001),
            frame(1, 2, Line::Unknown),
            trace(300_001, 0, &[1, 1]),
            Record::StartThread(StartThreadRecord {
                serial: ThreadSerial(200_001),
                object: ObjectId(0x5000_01c4),
                trace: TraceSerial(300_000),
                name: StringId(5),
                group: StringId(6),
                parent_group: StringId(0),
            }),
        ]
    );
}

#[test]
fn entries_tell_where_they_stand() {
    let file = encode(BinaryEncoder::new(), &profile());
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    let mut expected = HEADER as u64;
    for (time, record) in profile() {
        assert_eq!(reader.position(), expected);
        let entry = reader
            .read()
            .expect("the record is right")
            .expect("there is one");
        assert_eq!(
            (entry.offset, entry.time, entry.item.kind()),
            (expected, time, record.kind())
        );
        let mut bytes = Vec::new();
        BinaryEncoder::new().record(time, &record, &mut bytes);
        expected += bytes.len() as u64;
    }
    assert_eq!(reader.position(), file.len() as u64);
}

#[test]
fn heap_dumps_are_passed_over() {
    let large = vec![0x21; 200_000];
    let file = four_byte_file(&[
        (0x0c, b"abc"),
        (0x1c, &large),
        (0x2c, b""),
        (0x0b, &u4s(&[7])),
    ]);
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    let mut items = Vec::new();
    while let Some(entry) = reader.read().expect("every record is right") {
        items.push(match entry.item {
            Item::Record(record) => Item::Record(record.into_owned()),
            Item::HeapDump { segment, length } => Item::HeapDump { segment, length },
            Item::HeapDumpEnd => Item::HeapDumpEnd,
        });
    }
    assert_eq!(
        items,
        [
            Item::HeapDump {
                segment: false,
                length: 3
            },
            Item::HeapDump {
                segment: true,
                length: 200_000
            },
            Item::HeapDumpEnd,
            Item::Record(Record::EndThread(EndThreadRecord {
                serial: ThreadSerial(7)
            })),
        ]
    );
}

#[test]
fn a_file_cut_anywhere_tells_where_its_last_whole_record_ends() {
    let mut file = encode(BinaryEncoder::new(), &profile());
    file.extend_from_slice(b"\x1c\0\0\0\0\0\0\0\x05abcde");
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    let mut starts = Vec::new();
    while let Some(entry) = reader.read().expect("every record is right") {
        starts.push(entry.offset as usize);
    }
    starts.push(file.len());
    for length in HEADER..file.len() {
        let error = first_error(&file[..length]);
        if starts.contains(&length) {
            assert!(
                error.is_none(),
                "between two records at {length}: {error:?}"
            );
            continue;
        }
        let next = starts.partition_point(|&start| start < length);
        let (start, end) = (starts[next - 1], starts[next]);
        let gap = if length < start + 9 {
            start + 9 - length
        } else {
            end - length
        };
        let Some(ReadError::Truncated { offset, missing }) = error else {
            panic!("cut at {length}: {error:?}");
        };
        assert_eq!(
            (offset, missing),
            (start as u64, gap as u64),
            "cut at {length}"
        );
    }
}

#[test]
fn a_length_that_the_file_does_not_have_is_an_error_with_its_place() {
    let file = encode(BinaryEncoder::new(), &profile());
    for tag in [0x01, 0x05, 0x1c] {
        let mut cut = file.clone();
        cut.extend_from_slice(&[tag, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
        let Some(ReadError::Truncated { offset, missing }) = first_error(&cut) else {
            panic!("tag {tag}: no error");
        };
        assert_eq!(
            (offset, missing),
            (file.len() as u64, u64::from(u32::MAX) - 3)
        );
    }
}

#[test]
fn a_cut_record_is_the_last() {
    let mut file = binary(&[]);
    // After the truncated record's header there are bytes that look like a whole one.
    file.extend_from_slice(b"\x01\0\0\0\0\0\0\xff\xff\x0b\0\0\0\0\0\0\0\x04\0\0\0\x01");
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    assert!(matches!(reader.read(), Err(ReadError::Truncated { .. })));
    assert!(matches!(reader.read(), Ok(None)));
}

#[test]
fn a_record_must_be_as_long_as_its_content() {
    // Tag, length of a body of zeros, and the length it needs (ids of 4 bytes).
    let short = [
        (0x01, 3, 4),
        (0x02, 15, 16),
        (0x03, 0, 4),
        (0x04, 23, 24),
        (0x05, 11, 12),
        (0x06, 33, 34),
        (0x07, 23, 24),
        (0x0a, 23, 24),
        (0x0b, 2, 4),
        (0x0d, 4, 8),
        (0x0e, 5, 6),
    ];
    for (tag, length, content) in short {
        let file = four_byte_file(&[(0x0b, &[0; 4]), (tag, &vec![0; length])]);
        let start = HEADER as u64 + 13;
        let Some(ReadError::TooShort {
            offset,
            kind,
            length: found,
            needed,
        }) = first_error(&file)
        else {
            panic!("tag {tag:#x}: no error");
        };
        assert_eq!(
            (offset, kind.tag(), found as usize, needed),
            (start, tag, length, content)
        );
        if tag == 0x01 {
            continue;
        }
        let file = four_byte_file(&[(0x0b, &[0; 4]), (tag, &vec![0; content as usize + 2])]);
        let Some(ReadError::TooLong {
            offset,
            kind,
            length,
            needed,
        }) = first_error(&file)
        else {
            panic!("tag {tag:#x}: no error");
        };
        assert_eq!(
            (offset, kind.tag(), length, needed),
            (start, tag, content as u32 + 2, content)
        );
    }
    let file = four_byte_file(&[(0x2c, &[0])]);
    assert!(matches!(
        first_error(&file),
        Some(ReadError::TooLong { needed: 0, .. })
    ));
}

#[test]
fn a_record_must_have_as_many_rows_as_it_says() {
    let cases = [
        (
            0x05,
            u4s(&[300_001, 0, u32::MAX, 1]),
            12 + 4 * u64::from(u32::MAX),
        ),
        (0x05, u4s(&[300_001, 0, 1, 1, 1]), 16),
        (0x0d, u4s(&[9, 2, 1, 1]), 24),
        (0x0d, u4s(&[9, 0, 1, 1]), 8),
    ];
    for (tag, body, content) in cases {
        let error = first_error(&four_byte_file(&[(tag, &body)]));
        let Some(ReadError::TooShort { needed, .. } | ReadError::TooLong { needed, .. }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(needed, content);
    }
}

#[test]
fn values_without_a_meaning_are_refused() {
    let error = first_error(&four_byte_file(&[(
        0x04,
        &u4s(&[1, 2, 3, 4, 5, -4_i32 as u32]),
    )]));
    assert!(
        matches!(
            error,
            Some(ReadError::Value {
                kind: RecordKind::Frame,
                value: -4,
                ..
            })
        ),
        "{error:?}"
    );
    for indicator in [1, 3, 12] {
        let mut body = vec![0; 34 + 25];
        body[33] = 1;
        body[34] = indicator;
        let error = first_error(&four_byte_file(&[(0x06, &body)]));
        let Some(ReadError::Value {
            kind: RecordKind::AllocSites,
            value,
            ..
        }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(value, i64::from(indicator));
    }
}

#[test]
fn the_reader_continues_after_a_record_that_it_cannot_read() {
    let file = four_byte_file(&[(0x99, b"abc"), (0x0b, b"12345"), (0x0b, &u4s(&[7]))]);
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    let start = HEADER as u64;
    assert!(
        matches!(reader.read(), Err(ReadError::UnknownTag { offset, tag: 0x99 }) if offset == start)
    );
    assert_eq!(reader.position(), start + 12);
    assert!(
        matches!(reader.read(), Err(ReadError::TooLong { offset, .. }) if offset == start + 12)
    );
    let entry = reader
        .read()
        .expect("the last record is right")
        .expect("there is one");
    assert_eq!(
        entry.item,
        Item::Record(Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(7)
        }))
    );
}

#[test]
fn an_unknown_record_that_is_cut_is_told_on_the_next_call() {
    let mut file = four_byte_file(&[(0x99, b"abc")]);
    file.pop();
    let mut reader = Reader::new(file.as_slice()).expect("the header is right");
    assert!(matches!(reader.read(), Err(ReadError::UnknownTag { .. })));
    let error = reader.read().expect_err("a byte is missing");
    assert!(
        matches!(error, ReadError::Truncated { offset, missing: 1 } if offset == HEADER as u64),
        "{error}"
    );
}

#[test]
fn times_beyond_the_wrap_come_back() {
    let end = |serial| {
        Record::EndThread(EndThreadRecord {
            serial: ThreadSerial(serial),
        })
    };
    let hour: u64 = 3_600_000_000;
    // Half an hour apart over half a day, with a thread that is late by 5 ms every time.
    let times = (0..24).flat_map(|step| [step * hour / 2 + 5_000, step * hour / 2]);
    let records: Vec<_> = times
        .zip(1..)
        .map(|(time, serial)| (Micros(time), end(serial)))
        .collect();
    let file = encode(BinaryEncoder::new(), &records);
    assert_eq!(records_of(&file), records);
}

#[test]
fn a_long_record_is_read_whole() {
    let text: Vec<u8> = (0..1_000_000_u32).map(|index| index as u8).collect();
    let record = Record::String(StringRecord {
        id: StringId(1),
        text: Cow::Owned(text),
    });
    let records = [(Micros(0), record), (Micros(0), string(2, "behind"))];
    assert_eq!(records_of(&encode(BinaryEncoder::new(), &records)), records);
}

#[test]
fn a_source_that_fails_tells_how_far_it_was_read() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let file = binary(&[string(1, "whole"), string(2, "cut")]);
    let part = &file[..file.len() - 2];
    let mut reader = Reader::new(part.chain(Failing)).expect("the header is right");
    assert!(matches!(reader.read(), Ok(Some(_))));
    let error = reader.read().expect_err("the source fails");
    assert_eq!(
        error.to_string(),
        format!("byte {}: the disk is gone", part.len())
    );
    assert_eq!(error.offset(), part.len() as u64);
}
