//! Redaction of a heap dump while it is written.

use super::{RedactError, RedactKey, RedactSelection, Redactor};
use crate::heap::{HeapError, HeapRecords};
use crate::id_size::IdSize;
use crate::reader::{HeapEntry, HeapItem};
use crate::record::{ObjectId, StringId};

/// The reason the content of a segment cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The references of an instance cannot be told from its numbers.
    #[error("an object of a class whose fields are not known")]
    UnknownFields,
    /// The segment does not consist of whole records.
    #[error(transparent)]
    Content(#[from] HeapError),
}

/// Removes the content of a dump's segments by the same rules as [`redact`](super::redact). Names that records of the
/// dump refer to must be defined before, and a class must come before its instances.
pub struct SegmentRedactor(Redactor);

impl SegmentRedactor {
    /// Creates a redactor for one dump.
    #[must_use]
    pub fn new(key: RedactKey) -> SegmentRedactor {
        SegmentRedactor(Redactor::new(key, RedactSelection::default()))
    }

    /// Defines a string that records of the dump refer to.
    pub fn string(&mut self, id: StringId, text: &str) {
        self.0.chosen.define_string(id, text);
    }

    /// Defines the class with this object by its name in Java source.
    pub fn class(&mut self, object: ObjectId, name: &str) {
        self.0.chosen.define_class(object, name);
    }

    /// Appends to `out` what redaction makes of whole records with ids of 8 bytes.
    ///
    /// # Errors
    /// [`SegmentError`]. What was appended before it has no content of the original.
    pub fn redact(&mut self, records: &[u8], out: &mut Vec<u8>) -> Result<(), SegmentError> {
        for record in HeapRecords::new(records, IdSize::Eight) {
            let record = record?;
            let entry = HeapEntry {
                offset: 0,
                bytes: record.bytes(),
                item: HeapItem::Record(record.decode()?),
            };
            let start = out.len();
            if let Err(RedactError::UnknownFields { .. }) =
                self.0.heap_record(&entry, IdSize::Eight, out)
            {
                out.truncate(start);
                return Err(SegmentError::UnknownFields);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::io::Cursor;

    use super::*;
    use crate::binary::BinaryEncoder;
    use crate::encode::{Encoder, Micros, Millis};
    use crate::heap::{ClassDump, HeapRecord, Value};
    use crate::reader::Reader;
    use crate::record::{
        BasicType, ClassSerial, HeapDumpEndRecord, HeapDumpSegmentRecord, LoadClassRecord, Record,
        StringRecord, TraceSerial,
    };
    use crate::redact::redact;

    const CLASS: ObjectId = ObjectId(0x100);
    /// The reference, `count` and `value` of an instance.
    const FIELDS: [u8; 20] = *b"\0\0\0\0\0\0\x01\x01\0\0\0\x07ABCDEFGH";

    fn key() -> RedactKey {
        RedactKey::new(b"sixteen bytes...")
    }

    /// Returns a class with the two numbers as static and as other fields, and an instance and an array.
    fn content() -> Vec<u8> {
        let [reference, count, value] = [1, 2, 3].map(StringId);
        let trace = TraceSerial(1);
        let records = [
            HeapRecord::Class(ClassDump {
                class: CLASS,
                statics: vec![(count, Value::Int(77)), (value, Value::Int(78))].into(),
                fields: vec![
                    (reference, BasicType::Object),
                    (count, BasicType::Int),
                    (value, BasicType::Long),
                ]
                .into(),
                ..ClassDump::default()
            }),
            HeapRecord::Instance {
                object: ObjectId(0x101),
                trace,
                class: CLASS,
                fields: &FIELDS,
            },
            HeapRecord::PrimitiveArray {
                object: ObjectId(0x102),
                trace,
                element: BasicType::Byte,
                elements: b"a secret text",
            },
        ];
        let mut content = Vec::new();
        records.iter().for_each(|record| record.write(&mut content));
        content
    }

    /// Returns the content, redacted with a class of that name.
    fn redacted(class: &str) -> Vec<u8> {
        let mut redactor = SegmentRedactor::new(key());
        for (id, name) in (1..).zip(["reference", "count", "value"]) {
            redactor.string(StringId(id), name);
        }
        redactor.class(CLASS, class);
        let mut out = Vec::new();
        redactor.redact(&content(), &mut out).expect("all is known");
        out
    }

    #[test]
    fn a_segment_becomes_what_the_same_in_a_file_becomes() {
        for class in ["java/util/Box", "com/acme/Box"] {
            let mut records = Vec::new();
            for (id, text) in (1..).zip(["reference", "count", "value", class]) {
                records.push(Record::String(StringRecord {
                    id: StringId(id),
                    text: Cow::Borrowed(text.as_bytes()),
                }));
            }
            records.push(Record::LoadClass(LoadClassRecord {
                serial: ClassSerial(1),
                class_object: CLASS,
                trace: TraceSerial(1),
                name: StringId(4),
            }));
            records.push(Record::HeapDumpSegment(HeapDumpSegmentRecord {
                content: content().into(),
            }));
            records.push(Record::HeapDumpEnd(HeapDumpEndRecord));
            let (mut file, mut encoder) = (Vec::new(), BinaryEncoder::of_run(Vec::new()));
            encoder.start(Millis(0), &mut file);
            for record in &records {
                encoder.record(Micros(0), record, &mut file);
            }
            let mut copy = Vec::new();
            let reader = Reader::new(Cursor::new(file)).expect("a header");
            redact(reader, key(), RedactSelection::default(), &mut copy).expect("a whole file");
            let segment = redacted(&class.replace('/', "."));
            let end = copy.len() - 9;
            assert_eq!(copy[end - segment.len()..end], segment, "{class}");
        }
    }

    #[test]
    fn the_content_goes_and_references_and_counts_of_the_jdk_stay() {
        let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
        let jdk = redacted("java.util.Box");
        assert_eq!(jdk.len(), content().len());
        assert!(has(&jdk, b"\x01\x01\0\0\0\x07\0\0\0\0\0\0\0\0"));
        assert!(has(&jdk, b"\0\0\0\x4d") && !has(&jdk, b"\0\0\0\x4e"));
        assert!(!has(&jdk, b"secr"));
        let other = redacted("com.acme.Box");
        assert!(has(&other, b"\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0"));
        assert!(!has(&other, b"\0\0\0\x4d"));
    }

    #[test]
    fn what_nobody_has_described_stays_only_if_it_is_empty() {
        let instance = |fields: &[u8]| {
            let mut content = Vec::new();
            let record = HeapRecord::Instance {
                object: ObjectId(1),
                trace: TraceSerial(1),
                class: CLASS,
                fields,
            };
            record.write(&mut content);
            let mut out = Vec::new();
            let mut redactor = SegmentRedactor::new(key());
            (redactor.redact(&content, &mut out).is_ok(), out == content)
        };
        assert_eq!(instance(&[0; 16]), (true, true));
        assert_eq!(instance(&[1; 16]), (false, false));
    }
}
