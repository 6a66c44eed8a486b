//! What counting and timing every call yields. Only text can tell of it: the binary format has no record for it.

use std::borrow::Cow;

use crate::{FrameId, TraceSerial};

/// The result of timing methods, as one of the text formats prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing<'a> {
    /// CPU TIME: the cost by trace.
    Traces {
        /// All time, that of rows left out included, in nanoseconds.
        total: u64,
        /// All calls, those of rows left out included.
        calls: u64,
        /// The rows, ordered by their own time.
        rows: Cow<'a, [TraceTime]>,
    },
    /// The old prof format: the cost by caller and callee.
    Calls(Cow<'a, [CallTime]>),
}

/// One row of CPU TIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceTime {
    /// Calls of the trace's innermost method.
    pub calls: u64,
    /// Time in that method itself, in nanoseconds.
    pub own: u64,
    /// The trace.
    pub trace: TraceSerial,
}

/// One line of the old prof format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// Calls.
    pub calls: u64,
    /// The method that was called.
    pub callee: FrameId,
    /// The method that called it; `None` where no timed method did.
    pub caller: Option<FrameId>,
    /// Time until the calls returned, in nanoseconds.
    pub total: u64,
}

/// Nanoseconds as whole milliseconds, the nearest.
pub(crate) fn millis(nanos: u64) -> u64 {
    nanos.saturating_add(500_000) / 1_000_000
}
