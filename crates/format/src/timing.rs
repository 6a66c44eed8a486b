//! The result of counting and timing every call. Only the text formats can express it: the binary format has no record
//! for it.

use std::borrow::Cow;

use crate::record::{FrameId, TraceSerial};

/// The result of timing methods, as one of the text formats prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing<'a> {
    /// CPU TIME: the cost by trace.
    Traces {
        /// The time of all rows, including omitted ones, in nanoseconds.
        total: u64,
        /// The number of all calls, including those of omitted rows.
        calls: u64,
        /// The rows, ordered by their own time.
        rows: Cow<'a, [TraceTime]>,
    },
    /// The old prof format: the cost by caller and callee.
    Calls(Cow<'a, [CallTime]>),
}

/// A row of CPU TIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceTime {
    /// The number of calls of the trace's innermost method.
    pub calls: u64,
    /// Time in that method itself, in nanoseconds.
    pub own: u64,
    /// The trace.
    pub trace: TraceSerial,
}

/// A line of the old prof format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// The number of calls.
    pub calls: u64,
    /// The method that was called.
    pub callee: FrameId,
    /// The method that called it; `None` if no timed method did.
    pub caller: Option<FrameId>,
    /// Time until the calls returned, in nanoseconds.
    pub total: u64,
}

/// Rounds nanoseconds to whole milliseconds.
pub(crate) fn millis(nanos: u64) -> u64 {
    nanos.saturating_add(500_000) / 1_000_000
}
