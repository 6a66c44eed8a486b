//! What `monitor=y` tells: of waits as they happen, of the time that threads lost, and of the state of all monitors.

use std::borrow::Cow;

use crate::{ClassSerial, ThreadSerial, TraceSerial};

/// The unknown thread, which is never started.
pub(crate) const UNKNOWN_THREAD: ThreadSerial = ThreadSerial(200_000);

/// A record that the text format alone has: the binary format knows no monitors. It is no [`crate::Record`], so that
/// everything that handles those handles what both formats can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum MonitorRecord<'a> {
    /// A thread begins to wait to be notified.
    Wait {
        /// The signature of the monitor's class, `Ljava/lang/Object;`.
        signature: Cow<'a, str>,
        /// How long it will wait at the most, in milliseconds; 0 is for ever.
        timeout: u64,
        /// The thread; 200000 where it is not known.
        thread: ThreadSerial,
    },
    /// It has been notified, interrupted, or has waited long enough.
    Waited {
        /// The signature of the monitor's class.
        signature: Cow<'a, str>,
        /// How long it waited, in milliseconds.
        time_waited: u64,
        /// The thread; 200000 where it is not known.
        thread: ThreadSerial,
    },
    /// MONITOR DUMP.
    Dump {
        /// Every thread that is alive.
        threads: Cow<'a, [ThreadState]>,
        /// Every monitor that threads want or wait for.
        monitors: Cow<'a, [MonitorState]>,
    },
    /// MONITOR TIME. Rows are ordered by time, and may leave out what fell below the cutoff.
    Time {
        /// The time of all rows, those left out included, in nanoseconds.
        total: u64,
        /// How often threads waited in all, those of rows left out included.
        count: u64,
        /// The rows.
        rows: Cow<'a, [ContendedTime]>,
    },
}

/// A thread in MONITOR DUMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread.
    pub thread: ThreadSerial,
    /// Its name; empty where it has none.
    pub name: String,
    /// What it is at.
    pub trace: TraceSerial,
    /// Whether it runs.
    pub status: ThreadStatus,
    /// It has been suspended.
    pub suspended: bool,
    /// It has been interrupted and has not seen it yet.
    pub interrupted: bool,
    /// It runs native code.
    pub in_native: bool,
}

/// Whether a thread runs, and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// `R`.
    Runnable,
    /// `SL`: in `Thread.sleep`.
    Sleeping,
    /// `MW`: wants a monitor that another thread has.
    Entering,
    /// `CW`: waits to be notified, or is parked.
    Waiting,
    /// `ZO`.
    Ended,
    /// `NS`.
    NotStarted,
    /// `UN`.
    Unknown,
}

/// A monitor in MONITOR DUMP. 200000 stands for a thread that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorState {
    /// The signature of its class.
    pub signature: String,
    /// Who has it, and how many times it was entered; `None` where nobody has.
    pub owner: Option<(ThreadSerial, u32)>,
    /// Who wants it.
    pub entering: Vec<ThreadSerial>,
    /// Who waits to be notified.
    pub waiting: Vec<ThreadSerial>,
}

/// One row of MONITOR TIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContendedTime {
    /// The time that threads waited to enter, in nanoseconds.
    pub nanos: u64,
    /// How often they did.
    pub count: u64,
    /// Where.
    pub trace: TraceSerial,
    /// The class of the monitors.
    pub class: ClassSerial,
}
