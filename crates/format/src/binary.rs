//! The binary format: `format=b`.

use crate::bytes::write_u32_be;
use crate::encode::{Encoder, Micros, Millis};
use crate::record::{AllocSite, CpuSample, FrameId, Line, Record, StringId};

/// The beginning of the file; 1.0.2 is the first version with heap dump segments.
const VERSION: &[u8] = b"JAVA PROFILE 1.0.2\0";

/// The size of an id, in bytes.
const ID_SIZE: u32 = 8;

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

    /// As [`BinaryEncoder::new`], with facts about the run behind the file's first record, which is CONTROL SETTINGS:
    /// labels of one word, and their values.
    #[must_use]
    pub fn of_run(about: Vec<(&'static str, String)>) -> BinaryEncoder {
        BinaryEncoder { about }
    }

    fn facts(&mut self, time: Micros, out: &mut Vec<u8>) {
        for (number, (label, text)) in (0..).zip(std::mem::take(&mut self.about)) {
            let fact = Record::String {
                id: StringId::fact(number),
                text: format!("{label}: {text}").into_bytes().into(),
            };
            self.record(time, &fact, out);
        }
    }
}

impl Encoder for BinaryEncoder {
    fn start(&mut self, time: Millis, out: &mut Vec<u8>) {
        out.extend_from_slice(VERSION);
        let mut header = Body(out);
        header.u32(ID_SIZE);
        header.u64(time.0);
    }

    fn record(&mut self, time: Micros, record: &Record<'_>, out: &mut Vec<u8>) {
        out.push(record.kind().tag());
        // The format's time field wraps by design: its readers count the wraps.
        out.extend_from_slice(&(time.0 as u32).to_be_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let body_at = out.len();
        Body(out).record(record);
        let length = saturated((out.len() - body_at) as u64);
        write_u32_be(out, length_at, length);
        self.facts(time, out);
    }
}

/// The body of a record under construction, in the format's own units.
struct Body<'a>(&'a mut Vec<u8>);

impl Body<'_> {
    fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::String { id, ref text } => {
                self.id(id.0);
                self.0.extend_from_slice(fitting(text, 8, 1));
            }
            Record::LoadClass {
                serial,
                class_object,
                trace,
                name,
            } => {
                self.u32(serial.0);
                self.id(class_object.0);
                self.u32(trace.0);
                self.id(name.0);
            }
            Record::UnloadClass { serial } => self.u32(serial.0),
            Record::Frame {
                id,
                method,
                signature,
                source_file,
                class,
                line,
            } => {
                self.id(id.0);
                self.id(method.0);
                self.id(signature.0);
                self.id(source_file.0);
                self.u32(class.0);
                self.line(line);
            }
            Record::Trace {
                serial,
                thread,
                ref frames,
            } => {
                self.u32(serial.0);
                self.u32(thread.0);
                self.frames(fitting(frames, 12, 8));
            }
            Record::AllocSites {
                flags,
                cutoff,
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                ref sites,
            } => {
                self.u16(flags);
                self.u32(cutoff.to_bits());
                self.u32(saturated(live_bytes));
                self.u32(saturated(live_instances));
                self.u64(allocated_bytes);
                self.u64(allocated_instances);
                self.sites(fitting(sites, 34, 25));
            }
            Record::HeapSummary {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            } => {
                self.u32(saturated(live_bytes));
                self.u32(saturated(live_instances));
                self.u64(allocated_bytes);
                self.u64(allocated_instances);
            }
            Record::StartThread {
                serial,
                object,
                trace,
                name,
                group,
                parent_group,
            } => {
                self.u32(serial.0);
                self.id(object.0);
                self.u32(trace.0);
                self.id(name.0);
                self.id(group.0);
                self.id(parent_group.0);
            }
            Record::EndThread { serial } => self.u32(serial.0),
            Record::CpuSamples { total, ref rows } => {
                self.u32(total);
                self.cpu_samples(fitting(rows, 8, 8));
            }
            Record::HeapDumpSegment { ref content } => self.0.extend_from_slice(content),
            Record::HeapDumpEnd => {}
            Record::ControlSettings { flags, depth } => {
                self.u32(flags);
                self.u16(depth);
            }
        }
    }

    fn frames(&mut self, frames: &[FrameId]) {
        self.count(frames);
        for frame in frames {
            self.id(frame.0);
        }
    }

    fn cpu_samples(&mut self, rows: &[CpuSample]) {
        self.count(rows);
        for row in rows {
            self.u32(row.count);
            self.u32(row.trace.0);
        }
    }

    fn sites(&mut self, sites: &[AllocSite]) {
        self.count(sites);
        for site in sites {
            self.0
                .push(site.array_of.map_or(0, |basic_type| basic_type as u8));
            self.u32(site.class.0);
            self.u32(site.trace.0);
            self.u32(saturated(site.live_bytes));
            self.u32(saturated(site.live_instances));
            self.u32(saturated(site.allocated_bytes));
            self.u32(saturated(site.allocated_instances));
        }
    }

    fn line(&mut self, line: Line) {
        let value: i32 = match line {
            // The field is signed: a larger number would read as one of the special values below.
            Line::Number(number) => i32::try_from(number).unwrap_or(i32::MAX),
            Line::Unknown => -1,
            Line::Compiled => -2,
            Line::Native => -3,
        };
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn count<T>(&mut self, items: &[T]) {
        self.u32(saturated(items.len() as u64));
    }

    fn id(&mut self, id: u64) {
        self.u64(id);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns as many items of `size` bytes as a body has room for after `before` bytes.
fn fitting<T>(items: &[T], before: u32, size: u32) -> &[T] {
    let room = (u32::MAX - before) / size;
    &items[..items.len().min(room as usize)]
}
