//! Claims in a file cost nothing: time and memory are bounded by the bytes that are read.

use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::*;

use crate::common::{binary, string};
use crate::heap_check::{before, sound};

/// Counts the bytes that are read from it.
struct Counted<'a> {
    file: Cursor<&'a [u8]>,
    count: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.count.set(self.count.get() + count);
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Creates a file with `count` dumps, compressed so that it keeps most of its size.
fn many_dumps(count: usize, order: impl Fn(&mut Vec<HeapRecord<'static>>)) -> Vec<u8> {
    let mut dump = sound();
    order(&mut dump);
    let mut content = Vec::new();
    for record in &dump {
        record.write(&mut content);
    }
    let segment = Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    });
    let mut records = before();
    for _ in 0..count {
        records.extend([segment.clone(), Record::HeapDumpEnd(HeapDumpEndRecord)]);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder
        .write_all(&binary(&records))
        .expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[test]
fn dumps_without_totals_are_counted_in_one_more_pass_over_a_compressed_file() {
    let file = many_dumps(2_000, |_| {});
    let count = Cell::new(0);
    let source = Counted {
        file: Cursor::new(&file),
        count: &count,
    };
    let mut reader = Reader::new(decompressed(source).expect("it can be read")).expect("a file");
    let mut dumps = 0;
    while let Some(entry) = reader.read().expect("a sound file") {
        let offset = entry.offset;
        if matches!(entry.item, Item::HeapDump { .. }) {
            dumps += 1;
            let totals = reader
                .count_heap_dump(offset, ObjectLayout::USUAL)
                .expect("it can be read");
            assert_eq!(totals.objects, 3);
            while reader.read_heap().expect("a sound file").is_some() {}
        }
    }
    assert_eq!(dumps, 2_000);
    assert!(count.get() <= 2 * file.len() + 64, "{}", count.get());
}

#[test]
fn dumps_are_checked_again_in_one_more_pass_over_a_compressed_file() {
    // Instances before their classes are left to the second pass.
    let file = many_dumps(2_000, |dump| dump.reverse());
    let count = Cell::new(0);
    let source = Counted {
        file: Cursor::new(&file),
        count: &count,
    };
    let summary = check(decompressed(source).expect("it can be read")).expect("a sound file");
    assert_eq!(summary.heap_dumps, 2_000);
    assert!(count.get() <= 2 * file.len() + 64, "{}", count.get());
}

#[test]
fn counting_a_dump_that_broke_off_ends_with_it() {
    let mut content = Vec::new();
    for record in &sound() {
        record.write(&mut content);
    }
    let segment = Record::HeapDumpSegment(HeapDumpSegmentRecord {
        content: content.into(),
    });
    let mark = Record::String(StringRecord {
        id: StringId::BROKE_OFF,
        text: b"why"[..].into(),
    });
    let file = binary(&[
        segment.clone(),
        mark,
        segment,
        Record::HeapDumpEnd(HeapDumpEndRecord),
    ]);
    let mut reader = Reader::new(Cursor::new(&file)).expect("a file");
    let offset = reader.read().expect("sound").expect("a segment").offset;
    let totals = reader
        .count_heap_dump(offset, ObjectLayout::USUAL)
        .expect("it can be read");
    assert_eq!(totals.objects, 3);
}

#[test]
fn a_record_that_is_too_large_to_be_held_is_passed_over() {
    let length: u32 = (64 << 20) + 1;
    let mut start = binary(&[]);
    let offset = start.len() as u64;
    start.extend_from_slice(&[1, 0, 0, 0, 0]);
    start.extend_from_slice(&length.to_be_bytes());
    let next = binary(&[string(7, "next")]).split_off(offset as usize);
    let large = io::repeat(0).take(length.into());
    let mut reader = Reader::new(Cursor::new(start).chain(large).chain(&*next)).expect("a file");
    let error = reader.read().expect_err("it is too large");
    assert_eq!(
        error.to_string(),
        format!(
            "byte {offset}: STRING of 67108865 bytes; only heap dumps may take more than 67108864"
        )
    );
    let entry = reader.read().expect("the next one is right");
    assert_eq!(
        entry.map(|entry| entry.item),
        Some(Item::Record(string(7, "next")))
    );
}
