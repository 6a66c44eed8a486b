//! Files in the binary format, compressed or not, and in the text format.

use std::io::{self, Cursor, Write};

use hprof_format::{
    BinaryEncoder, BlackBox, Encoder, HeapItem, HeapRecord, HeapRecords, IdSize, Item, Micros,
    Millis, ReadError, Reader, Record, RedactKey, RedactSelection, Snapshot, Source, TextEncoder,
    TextItem, TextReader, black_box_head, check, check_tolerantly, compare_redacted, decompressed,
    printable, redact, snapshot_offset,
};

/// The number of bytes of text after which printing ends: a few bytes can name a long string any number of times.
const LONGEST_TEXT: usize = 1 << 20;

/// Reads everything, even after faults. The records are written and read again, and must then be the same.
pub fn reader(data: &[u8]) {
    let Some(mut reader) = open(data) else {
        return;
    };
    let id_size = reader.header().id_size;
    loop {
        let heap = match reader.read() {
            Ok(None) => return,
            Ok(Some(entry)) => match entry.item {
                Item::Record(record) => {
                    writes_and_reads(&record);
                    false
                }
                Item::HeapDump { .. } => true,
                Item::HeapDumpEnd => false,
            },
            Err(error) if can_go_on(&error) => false,
            Err(_) => return,
        };
        if heap {
            // After a fault the reader continues after the dump.
            while let Ok(Some(entry)) = reader.read_heap() {
                if let HeapItem::Record(record) = entry.item
                    && id_size == IdSize::Eight
                {
                    writes_and_reads_in_heap(&record);
                }
            }
        }
    }
}

/// A snapshot of anything is read as it was written, and what is no black box is refused.
pub fn black_box(data: &[u8]) {
    let _ = BlackBox::read(&mut Cursor::new(data));
    let snapshot = Snapshot {
        sequence: 2,
        time: Millis(1),
        swept: None,
        growth: &[],
        profile: data,
        memory: &[],
    };
    let Some(bytes) = snapshot.encode() else {
        return;
    };
    let place = usize::try_from(snapshot_offset(2)).expect("it fits");
    let mut file = black_box_head().to_vec();
    file.resize(place, 0);
    file.extend(bytes);
    let found = BlackBox::read(&mut Cursor::new(&file)).expect("it is whole");
    assert_eq!((found.time, &*found.profile), (Millis(1), data));
    file.pop();
    BlackBox::read(&mut Cursor::new(file)).expect_err("it is cut");
}

/// Files that pass the strict check also pass the tolerant one, without a warning.
pub fn checker(data: &[u8]) {
    let Some(strict) = source(data).map(check) else {
        return;
    };
    let Some(tolerant) = source(data).map(check_tolerantly) else {
        return;
    };
    match (strict, tolerant) {
        (Ok(strict), tolerant) => {
            let tolerant = tolerant.expect("the strict check has found nothing");
            assert_eq!(strict, tolerant);
            assert!(strict.warnings.is_empty());
        }
        (Err(fault), Ok(summary)) => {
            assert!(!summary.warnings.is_empty(), "{fault}");
        }
        (Err(strict), Err(tolerant)) => {
            for message in [strict.to_string(), tolerant.to_string()] {
                assert_eq!(message, printable(&message));
            }
        }
    }
}

/// A redacted file is as long as the original, and has its structure without its content.
pub fn redactor(data: &[u8]) {
    for names in [false, true] {
        let Some(reader) = open(data) else {
            return;
        };
        let selection = RedactSelection {
            names,
            ..RedactSelection::default()
        };
        let mut redacted = Vec::new();
        let key = RedactKey::new(b"sixteen bytes...");
        if redact(reader, key, selection, &mut redacted).is_ok() {
            let mut original = source(data).expect("it has been read");
            let length = io::copy(&mut original, &mut io::sink());
            assert_eq!(redacted.len() as u64, length.expect("it has been read"));
            let original = source(data).expect("it has been read");
            let compared = compare_redacted(original, &*redacted);
            compared.expect("it is the redacted form of that file");
        }
    }
}

/// The text contains nothing that a terminal would interpret.
pub fn text(data: &[u8]) {
    let Some(mut reader) = open(data) else {
        return;
    };
    let mut text = Text(Vec::new());
    // A fault of the reader and a text that is too long both end it.
    let _ = print(&mut reader, &mut text);
    let text = String::from_utf8(text.0).expect("text is UTF-8");
    for part in text.split(['\n', '\t']) {
        assert_eq!(part, printable(part));
    }
}

fn source(data: &[u8]) -> Option<Box<dyn Source + '_>> {
    decompressed(Cursor::new(data)).ok()
}

fn open(data: &[u8]) -> Option<Reader<Box<dyn Source + '_>>> {
    Reader::new(source(data)?).ok()
}

fn can_go_on(error: &ReadError) -> bool {
    matches!(
        error,
        ReadError::UnknownTag { .. }
            | ReadError::TooLarge { .. }
            | ReadError::TooShort { .. }
            | ReadError::TooLong { .. }
            | ReadError::Value { .. }
    )
}

fn writes_and_reads(record: &Record<'_>) {
    let mut file = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut file);
    encoder.record(Micros(0), record, &mut file);
    let mut reader = Reader::new(&*file).expect("the encoder writes a header");
    let entry = reader.read().expect("the encoder writes whole records");
    // Compared as text, since a cutoff that is NaN is not equal to itself.
    let read = entry.map(|entry| format!("{:?}", entry.item));
    assert_eq!(read, Some(format!("{:?}", Item::Record(record.clone()))));
}

fn writes_and_reads_in_heap(record: &HeapRecord<'_>) {
    let mut bytes = Vec::new();
    record.write(&mut bytes);
    let mut records = HeapRecords::new(&bytes, IdSize::Eight);
    let read = records.next().expect("a record").expect("a whole one");
    let read = read.decode().expect("a sound one");
    assert_eq!(format!("{read:?}"), format!("{record:?}"));
    assert!(records.next().is_none());
}

/// Prints as `hprof text` does.
fn print(
    reader: &mut Reader<Box<dyn Source + '_>>,
    text: &mut Text,
) -> Result<(), Box<dyn std::error::Error>> {
    let id_size = reader.header().id_size;
    let mut encoder = TextEncoder::new();
    while let Some(entry) = reader.read()? {
        let (offset, time) = (entry.offset, entry.time);
        match entry.item {
            Item::Record(ref record) => encoder.write(time, record, text)?,
            Item::HeapDumpEnd => encoder.heap_end(text)?,
            Item::HeapDump { segment, .. } => {
                if !encoder.has_heap_totals() {
                    let layout = encoder.heap_layout();
                    encoder.heap_totals(reader.count_heap_dump(offset, layout)?);
                }
                encoder.heap_segment(time, text)?;
                while let Some(entry) = reader.read_heap()? {
                    encoder.heap_item(id_size, &entry.item, text)?;
                }
                if !segment {
                    encoder.heap_end(text)?;
                }
            }
        }
    }
    Ok(())
}

/// Accepts a limited number of bytes.
struct Text(Vec<u8>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_TEXT {
            return Err(io::Error::other("enough"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a text profile, even after faults, and prints it.
pub fn text_reader(data: &[u8]) {
    let Ok(mut reader) = TextReader::new(data) else {
        return;
    };
    let mut encoder = TextEncoder::new();
    let mut out = Vec::new();
    // A line is read once, so there are no more faults than lines.
    for _ in 0..=data.len() {
        match reader.read() {
            Ok(None) => return,
            Ok(Some(entry)) => match &entry.item {
                TextItem::Record(record) => encoder.record(entry.time, record, &mut out),
                TextItem::Monitor(record) => {
                    encoder.monitor(entry.time, record, &mut out);
                }
                TextItem::Timing(timing) => encoder.timing(entry.time, timing, &mut out),
                TextItem::HeapDump { .. } => {}
            },
            Err(_) => {}
        }
        if out.len() > LONGEST_TEXT {
            return;
        }
    }
}
