//! Heap dumps, read record by record from a file.

use hprof_format::*;

use crate::common::encode;
use crate::heap::{records, written};

/// Returns a file whose heap dump has `content` in one segment, and the content's offset.
fn file_with(content: &[u8]) -> (Vec<u8>, u64) {
    let segment = Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    });
    let end = Record::HeapDumpEnd(HeapDumpEndRecord);
    let file = encode(
        BinaryEncoder::new(),
        &[(Micros(0), segment), (Micros(0), end)],
    );
    (file, 31 + 9)
}

fn opened(file: &[u8]) -> Reader<&[u8]> {
    let mut reader = Reader::new(file).expect("a header");
    let entry = reader.read().expect("a record").expect("one");
    assert!(matches!(entry.item, Item::HeapDump { segment: true, .. }));
    reader
}

fn first_error(content: &[u8]) -> String {
    let (file, _) = file_with(content);
    let mut reader = opened(&file);
    let error = loop {
        match reader.read_heap() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("there is no error"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(
        matches!(reader.read_heap(), Ok(None)),
        "there is no going on"
    );
    let next = reader.read().expect("the next record").expect("one");
    assert_eq!(next.item, Item::HeapDumpEnd);
    error
}

#[test]
fn every_record_comes_with_its_place() {
    let records = records();
    let (file, start) = file_with(&written(&records));
    let mut reader = opened(&file);
    let mut offset = start;
    for record in &records {
        let entry = reader.read_heap().expect("sound").expect("one more");
        assert_eq!(entry.offset, offset);
        assert_eq!(entry.item, HeapItem::Record(record.clone()));
        offset += written(std::slice::from_ref(record)).len() as u64;
    }
    assert_eq!(reader.read_heap().expect("sound"), None);
    let next = reader.read().expect("sound").expect("the end of the dump");
    assert_eq!(next.item, Item::HeapDumpEnd);
}

#[test]
fn what_is_not_read_is_passed_over() {
    let (file, _) = file_with(&written(&records()));
    let mut reader = opened(&file);
    reader.read_heap().expect("sound").expect("the first");
    let next = reader.read().expect("sound").expect("the end of the dump");
    assert_eq!(next.item, Item::HeapDumpEnd);
    assert_eq!(reader.read_heap().expect("no dump is open"), None);
}

#[test]
fn long_arrays_come_in_pieces() {
    let long: Vec<u8> = (0..200_004_u32).map(|index| index as u8).collect();
    let array = |elements| HeapRecord::PrimitiveArray {
        object: ObjectId(8),
        trace: TraceSerial(1),
        element: BasicType::Int,
        elements,
    };
    let after = HeapRecord::Root {
        object: ObjectId(8),
        root: Root::StickyClass,
    };
    let (file, _) = file_with(&written(&[array(&long), after.clone()]));
    let mut reader = opened(&file);
    let head = reader.read_heap().expect("sound").expect("the array");
    assert_eq!(
        head.item,
        HeapItem::Head {
            record: array(&[]),
            length: 200_004
        }
    );
    let mut content = Vec::new();
    loop {
        let entry = reader.read_heap().expect("sound").expect("a piece");
        let HeapItem::Piece { bytes, last } = entry.item else {
            panic!("{:?}", entry.item);
        };
        content.extend_from_slice(bytes);
        if last {
            break;
        }
        assert_eq!(content.len() % 8, 0, "no id is cut");
    }
    assert_eq!(content, long);
    let entry = reader.read_heap().expect("sound").expect("what is behind");
    assert_eq!(entry.item, HeapItem::Record(after));
}

#[test]
fn a_file_that_ends_inside_a_dump_is_truncated() {
    let long = vec![7; 100_000];
    let mut records = records();
    records.push(HeapRecord::ObjectArray {
        object: ObjectId(8),
        trace: TraceSerial(1),
        class: ObjectId(16),
        elements: &long,
    });
    let (file, start) = file_with(&written(&records));
    for cut in (start as usize + 1..2_000).chain([50_000, 90_000]) {
        let mut reader = opened(&file[..cut]);
        let error = loop {
            match reader.read_heap() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the file is cut at {cut}"),
                Err(error) => break error,
            }
        };
        let ReadError::Truncated { offset, missing } = error else {
            panic!("{error}");
        };
        assert_eq!((offset, missing), (31, (file.len() - 9 - cut) as u64));
        assert!(matches!(reader.read(), Ok(None)));
    }
}

#[test]
fn errors_name_the_byte() {
    assert_eq!(
        first_error(b"\x05\0\0\0\0\0\0\0\x01\x24"),
        "byte 49: unknown tag 0x24 in the HEAP DUMP SEGMENT of byte 31"
    );
    assert_eq!(
        first_error(b"\x05\0\0\0\0\0\0\0"),
        "byte 40: ROOT STICKY CLASS takes 9 bytes or more, but the HEAP DUMP SEGMENT of byte 31 ends after 8"
    );
    let claims = b"\x22\0\0\0\0\0\0\0\x01\0\0\0\x01\x40\0\0\0\0\0\0\0\0\0\0\x02";
    assert_eq!(
        first_error(claims),
        "byte 40: OBJECT ARRAY DUMP takes 8589934617 bytes or more, but the HEAP DUMP SEGMENT of byte 31 \
         ends after 25"
    );
    // A class with one field, of a type that does not exist.
    let mut class = vec![0x20];
    class.extend_from_slice(&[0; 8 + 4 + 6 * 8 + 4 + 2 + 2]);
    class.extend_from_slice(b"\0\x01\0\0\0\0\0\0\0\x01\x0c");
    assert_eq!(
        first_error(&class),
        "byte 40: CLASS DUMP has the type 12, which means nothing"
    );
    for array in [0x23, 0xc3] {
        let mut record = vec![array];
        record.extend_from_slice(&[0; 16]);
        record.push(2);
        assert!(first_error(&record).ends_with("has the element type 2, which means nothing"));
    }
}

#[test]
fn a_reader_goes_back() {
    let (file, _) = file_with(&written(&records()));
    let mut source = std::io::Cursor::new([b"before", &file[..]].concat());
    source.set_position(6);
    let mut reader = Reader::new(source).expect("a header");
    for _ in 0..2 {
        let entry = reader.read().expect("sound").expect("a segment");
        assert_eq!(entry.offset, 31);
        let mut count = 0;
        while reader.read_heap().expect("sound").is_some() {
            count += 1;
        }
        assert_eq!(count, records().len());
        reader.read().expect("sound").expect("the end");
        assert_eq!(reader.read().expect("sound"), None);
        reader.seek(31).expect("a cursor goes everywhere");
    }
}
