//! The binary format: `format=b`.

use crate::bytes::write_u32_be;
use crate::encode::{Encoder, Micros, Millis};
use crate::record::{PayloadWriter, Record, StringId, StringRecord};

/// The beginning of the file; 1.0.2 is the first version with heap dump segments.
const VERSION: &[u8] = b"JAVA PROFILE 1.0.2\0";

/// Writes the binary format, version 1.0.2, with ids of 8 bytes; all numbers are big-endian.
///
/// Values that do not fit the format's fields are limited to the largest one that does: a count above 2^32 - 1, a line
/// number above 2^31 - 1, a record above 4 GB (its last bytes or rows are omitted). A record's time is written modulo
/// 2^32.
#[derive(Debug, Default)]
pub struct BinaryEncoder {
    /// The facts about the run that have not been written yet.
    about: Vec<(&'static str, String)>,
}

impl BinaryEncoder {
    /// Creates an encoder for one file.
    #[must_use]
    pub fn new() -> BinaryEncoder {
        BinaryEncoder::default()
    }

    /// As [`BinaryEncoder::new`], with facts about the run after the file's first record, which is CONTROL SETTINGS:
    /// labels of one word, and their values.
    #[must_use]
    pub fn of_run(about: Vec<(&'static str, String)>) -> BinaryEncoder {
        BinaryEncoder { about }
    }

    fn facts(&mut self, time: Micros, out: &mut Vec<u8>) {
        for (number, (label, text)) in (0..).zip(std::mem::take(&mut self.about)) {
            let fact = Record::String(StringRecord {
                id: StringId::fact(number),
                text: format!("{label}: {text}").into_bytes().into(),
            });
            self.record(time, &fact, out);
        }
    }
}

impl Encoder for BinaryEncoder {
    fn start(&mut self, time: Millis, out: &mut Vec<u8>) {
        out.extend_from_slice(VERSION);
        let mut header = PayloadWriter(out);
        header.u32(PayloadWriter::ID_SIZE);
        header.u64(time.0);
    }

    fn record(&mut self, time: Micros, record: &Record<'_>, out: &mut Vec<u8>) {
        out.push(record.kind().tag());
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the format's time field wraps by design: its readers count the wraps"
        )]
        let wrapped = time.0 as u32;
        out.extend_from_slice(&wrapped.to_be_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let body_at = out.len();
        record.encode(&mut PayloadWriter(out));
        let length = PayloadWriter::saturated((out.len() - body_at) as u64);
        write_u32_be(out, length_at, length);
        self.facts(time, out);
    }
}
