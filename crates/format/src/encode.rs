//! The interface of both encoders, which turn a file's header and records into bytes.

use crate::monitor::MonitorRecord;
use crate::record::Record;
use crate::timing::Timing;

/// A time in milliseconds since 1970-01-01 00:00 UTC, the unit of a file's time stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// A time in microseconds since the file's time stamp. The binary format keeps the low 32 bits (71.6 minutes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

/// Appends records to a buffer in one of the two formats.
///
/// An encoder may remember what it has written (the text encoder keeps names), so one encoder writes one file, from its
/// beginning.
pub trait Encoder: Send {
    /// Appends the beginning of a file.
    fn start(&mut self, time: Millis, out: &mut Vec<u8>);

    /// Appends one complete record.
    fn record(&mut self, time: Micros, record: &Record<'_>, out: &mut Vec<u8>);

    /// Appends one complete record about monitors, in a format that has such records; returns `false` in any other, where
    /// [`MonitorRecord::note`] takes its place.
    fn monitor(&mut self, _time: Micros, _record: &MonitorRecord<'_>, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Appends the result of timing methods, in a format that can express it; otherwise nothing.
    fn timing(&mut self, _time: Micros, _timing: &Timing<'_>, _out: &mut Vec<u8>) {}
}
