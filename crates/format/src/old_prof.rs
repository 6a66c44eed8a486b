//! The format of the profiler before HPROF: `cpu=old`.

use std::io::Write;

use foldhash::HashMap;

use crate::encode::{Encoder, Micros, Millis};
use crate::names::{NameTable, UNKNOWN_NAME, shared_source_name};
use crate::printable::printable;
use crate::record::{FrameId, FrameRecord, LoadClassRecord, Record, StringRecord};
use crate::timing::Timing;
use crate::timing::millis;

/// Writes the old prof format: for each pair of methods, the calls of one by the other, and nothing else. The file has
/// no header.
///
/// It remembers strings, classes and frames for as long as it lives; other records are ignored.
#[derive(Debug, Default)]
pub struct OldProfEncoder {
    names: NameTable,
    /// `Class.method(SIG)RET`.
    methods: HashMap<FrameId, Box<str>>,
}

impl OldProfEncoder {
    /// Creates an encoder for one file.
    #[must_use]
    pub fn new() -> OldProfEncoder {
        OldProfEncoder::default()
    }

    fn method(&self, frame: FrameId) -> &str {
        self.methods
            .get(&frame)
            .map_or(UNKNOWN_NAME, |method| method)
    }
}

impl Encoder for OldProfEncoder {
    fn start(&mut self, _time: Millis, _out: &mut Vec<u8>) {}

    fn record(&mut self, _time: Micros, record: &Record<'_>, _out: &mut Vec<u8>) {
        match *record {
            Record::String(StringRecord { id, ref text }) if id.is_name() => {
                let text = printable(text).into();
                self.names.define_string(id, text);
            }
            Record::LoadClass(LoadClassRecord { serial, name, .. }) => {
                self.names.define_class(serial, name, shared_source_name);
            }
            Record::Frame(FrameRecord {
                id,
                method,
                signature,
                class,
                ..
            }) => {
                let string = |id| self.names.string(id).as_str();
                let class = self.names.class(class).as_str();
                let text = format!("{class}.{}{}", string(method), string(signature));
                self.methods.insert(id, text.into());
            }
            _ => {}
        }
    }

    fn timing(&mut self, _time: Micros, timing: &Timing<'_>, out: &mut Vec<u8>) {
        let Timing::Calls(calls) = timing else { return };
        writeln!(out, "count callee caller time").expect("a Vec takes every write");
        for call in calls.iter() {
            let callee = self.method(call.callee);
            let caller = call
                .caller
                .map_or("<unknown caller>", |caller| self.method(caller));
            let (count, time) = (call.calls, millis(call.total));
            writeln!(out, "{count} {callee} {caller} {time}").expect("a Vec takes every write");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::record::Line;
    use crate::record::{ClassSerial, EndThreadRecord, StringId};
    use crate::record::{ObjectId, TraceSerial};
    use crate::timing::CallTime;

    fn encoded(records: &[Record<'_>], timing: &Timing<'_>) -> String {
        let mut encoder = OldProfEncoder::new();
        let mut out = Vec::new();
        encoder.start(Millis(0), &mut out);
        for record in records {
            encoder.record(Micros(0), record, &mut out);
        }
        encoder.timing(Micros(0), timing, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    fn string(id: u64, text: &str) -> Record<'_> {
        Record::String(StringRecord {
            id: StringId(id),
            text: Cow::Borrowed(text.as_bytes()),
        })
    }

    fn frame(id: u64, method: u64) -> Record<'static> {
        Record::Frame(FrameRecord {
            id: FrameId(id),
            method: StringId(method),
            signature: StringId(4),
            source_file: StringId(0),
            class: ClassSerial(1),
            line: Line::Number(7),
        })
    }

    #[test]
    fn a_line_has_count_callee_caller_and_milliseconds() {
        let records = [
            string(1, "Calls"),
            string(2, "main"),
            string(3, "leaf"),
            string(4, "(I)V"),
            Record::LoadClass(LoadClassRecord {
                serial: ClassSerial(1),
                class_object: ObjectId(1),
                trace: TraceSerial(300_000),
                name: StringId(1),
            }),
            frame(10, 2),
            frame(11, 3),
            Record::EndThread(EndThreadRecord {
                serial: crate::record::ThreadSerial(200_001),
            }),
        ];
        let calls = [
            CallTime {
                calls: 300,
                callee: FrameId(11),
                caller: Some(FrameId(10)),
                total: 5_499_999,
            },
            CallTime {
                calls: 1,
                callee: FrameId(10),
                caller: None,
                total: 5_500_000,
            },
        ];
        let expected = "count callee caller time\n\
            300 Calls.leaf(I)V Calls.main(I)V 5\n\
            1 Calls.main(I)V <unknown caller> 6\n";
        assert_eq!(
            encoded(&records, &Timing::Calls(Cow::Borrowed(&calls))),
            expected
        );
    }

    #[test]
    fn what_it_does_not_know_it_says() {
        let call = CallTime {
            calls: 1,
            callee: FrameId(10),
            caller: None,
            total: 0,
        };
        let text = encoded(&[], &Timing::Calls(Cow::Owned(vec![call])));
        assert!(
            text.ends_with("\n1 <unknown> <unknown caller> 0\n"),
            "{text}"
        );
    }
}
