//! What both encoders do: turn a file's head and its records into bytes.

use crate::{MonitorRecord, Record, Timing};

/// A moment as milliseconds since 1970-01-01 00:00 UTC, the unit of a file's time stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// A moment as microseconds since the file's time stamp. The binary format keeps the low 32 bits (71.6 minutes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

/// Appends records to a buffer in one of the two formats.
///
/// An encoder may remember what it wrote (the text encoder keeps names), so one encoder writes one file, from its
/// start on.
pub trait Encoder: Send {
    /// Appends what a file starts with.
    fn start(&mut self, time: Millis, out: &mut Vec<u8>);

    /// Appends one record, whole.
    fn record(&mut self, time: Micros, record: &Record<'_>, out: &mut Vec<u8>);

    /// Appends one record about monitors, whole, in a format that has such records; nothing in others.
    fn monitor(&mut self, _time: Micros, _record: &MonitorRecord<'_>, _out: &mut Vec<u8>) {}

    /// Appends the result of timing methods, in a format that has a form for it; nothing in others.
    fn timing(&mut self, _time: Micros, _timing: &Timing<'_>, _out: &mut Vec<u8>) {}
}
