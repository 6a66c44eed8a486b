//! The records of a file outside of its dumps: names, classes, frames and traces.

use std::ops::Range;

use foldhash::HashMap;
use hprof_format::{
    FrameRecord, IdSize, Line, LoadClassRecord, RECORD_HEADER, Record, StringRecord, TraceRecord,
};

/// The records outside of the dump.
///
/// Unlike [`NameTable`](hprof_format::NameTable), it holds no text: a dump has a string for each field and method of
/// the program, of which few are shown. Texts stay in the mapped file until they are.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The range of each string in the file.
    pub(crate) strings: HashMap<u64, Range<usize>>,
    /// The name of a class, by its object.
    pub(crate) class_names: HashMap<u64, u64>,
    /// The same, by its serial number.
    pub(crate) class_serials: HashMap<u32, u64>,
    pub(crate) frames: HashMap<u64, RawFrame>,
    /// The range in [`Tables::trace_frames`] of each trace's frames.
    pub(crate) traces: HashMap<u32, Range<usize>>,
    /// The frames of all traces.
    pub(crate) trace_frames: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct RawFrame {
    pub(crate) method: u64,
    pub(crate) source: u64,
    pub(crate) class: u32,
    pub(crate) line: Line,
}

impl Tables {
    /// Adds a record, which is at an offset of the file.
    pub(crate) fn add(&mut self, record: &Record<'_>, offset: u64, id_size: IdSize) {
        match *record {
            Record::String(StringRecord { id, ref text }) => {
                let start = (offset + RECORD_HEADER as u64 + id_size.bytes()) as usize;
                self.strings.insert(id.0, start..start + text.len());
            }
            Record::LoadClass(LoadClassRecord {
                serial,
                class_object,
                name,
                ..
            }) => {
                self.class_names.insert(class_object.0, name.0);
                self.class_serials.insert(serial.0, name.0);
            }
            Record::Frame(FrameRecord {
                id,
                method,
                source_file,
                class,
                line,
                ..
            }) => {
                let frame = RawFrame {
                    method: method.0,
                    source: source_file.0,
                    class: class.0,
                    line,
                };
                self.frames.insert(id.0, frame);
            }
            Record::Trace(TraceRecord {
                serial, ref frames, ..
            }) => {
                let start = self.trace_frames.len();
                self.trace_frames.extend(frames.iter().map(|frame| frame.0));
                self.traces.insert(serial.0, start..self.trace_frames.len());
            }
            _ => {}
        }
    }
}
