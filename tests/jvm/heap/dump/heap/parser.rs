//! Parses records, one after another.

use std::collections::HashMap;

use hprof_format::{
    FrameRecord, HeapRecords, HeapSummaryRecord, IdSize, Line, LoadClassRecord, Record,
    StartThreadRecord, StringRecord, TraceRecord, source_name,
};

use super::{Dump, File};

#[derive(Default)]
pub(super) struct Parser {
    pub(super) file: File,
    strings: HashMap<u64, String>,
    /// The names of class objects, as of the last LOAD CLASS.
    names: HashMap<u64, String>,
    names_by_serial: HashMap<u32, String>,
    frames: HashMap<u64, String>,
    pub(super) dump: Option<Dump>,
    totals: Option<(u64, u64)>,
}

impl Parser {
    pub(super) fn record(&mut self, record: &Record<'_>) {
        let kind = match record {
            Record::HeapSummary(_) => "HEAP SUMMARY",
            Record::AllocSites(_) => "ALLOC SITES",
            Record::CpuSamples(_) => "CPU SAMPLES",
            _ => "",
        };
        self.saw(kind);
        if self.dump.is_some() {
            let is_of_a_dump = matches!(
                record,
                Record::String(_) | Record::LoadClass(_) | Record::Frame(_) | Record::Trace(_)
            );
            assert!(is_of_a_dump, "inside a dump: {record:?}");
        }
        match *record {
            Record::String(StringRecord { id, ref text }) => {
                let text = String::from_utf8(text.to_vec()).expect("UTF-8");
                if id.is_note() {
                    self.file.notes.push(text);
                } else {
                    self.strings.insert(id.0, text);
                }
            }
            Record::LoadClass(LoadClassRecord {
                serial,
                class_object,
                name,
                ..
            }) => {
                let name = source_name(&self.strings[&name.0]).into_owned();
                self.names.insert(class_object.0, name.clone());
                self.names_by_serial.insert(serial.0, name);
            }
            Record::Frame(FrameRecord {
                id,
                method,
                source_file,
                class,
                line,
                ..
            }) => {
                let class = &self.names_by_serial[&class.0];
                let method = &self.strings[&method.0];
                let file = self
                    .strings
                    .get(&source_file.0)
                    .map_or("<Unknown Source>", String::as_str);
                let line = match line {
                    Line::Number(number) => number.to_string(),
                    _ => "Unknown line".to_owned(),
                };
                let frame = format!("{class}.{method}({file}:{line})");
                self.frames.insert(id.0, frame);
            }
            Record::Trace(TraceRecord {
                serial,
                thread,
                ref frames,
            }) => {
                let frames = frames.iter().map(|frame| self.frames[&frame.0].clone());
                let trace = (thread.0, frames.collect());
                self.file.traces.insert(serial.0, trace);
            }
            Record::StartThread(StartThreadRecord {
                serial,
                object,
                name,
                ..
            }) => {
                let name = self.strings[&name.0].clone();
                self.file.thread_objects.insert(serial.0, object.0);
                self.file.threads.insert(serial.0, name);
            }
            Record::AllocSites(_) => self.file.sites += 1,
            Record::HeapSummary(HeapSummaryRecord {
                live_bytes,
                live_instances,
                ..
            }) => self.totals = Some((live_instances, live_bytes)),
            _ => {}
        }
    }

    fn saw(&mut self, kind: &'static str) {
        if !kind.is_empty() && self.file.order.last() != Some(&kind) {
            self.file.order.push(kind);
        }
    }

    pub(super) fn segment(&mut self, content: &[u8]) {
        self.saw("HEAP DUMP SEGMENT");
        self.file.segments.push(content.len());
        let totals = self.totals;
        let dump = self.dump.get_or_insert_with(|| Dump {
            totals,
            ..Dump::default()
        });
        for record in HeapRecords::new(content, IdSize::Eight) {
            let record = record.expect("a whole record").decode().expect("sound");
            dump.add(record, &self.strings, &self.names);
        }
    }

    pub(super) fn end(&mut self) {
        self.saw("HEAP DUMP END");
        self.file.dumps.push(self.dump.take().expect("segments"));
        self.totals = None;
    }
}
