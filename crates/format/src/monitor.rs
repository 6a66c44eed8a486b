//! The records of `monitor=y`: waits as they happen, the time that threads lost, and the state of all monitors.

use std::borrow::Cow;

use crate::record::{ClassSerial, ThreadSerial, TraceSerial};

/// The remark on a file without contention, whose threads may have waited for other locks.
pub const ONLY_MONITORS: &str = "only waiting for monitors (synchronized) is contention; waiting for locks of java.util.concurrent is lock-wait, if the file has that";

/// The note before a table of contention that LOCK WAITS follow.
pub const MONITORS_BEFORE_LOCKS: &str = "only waiting for monitors (synchronized) is measured here; LOCK WAITS have locks of java.util.concurrent, too";

/// The note after the last section of a snapshot for `hprof live`.
pub(crate) const END_OF_SNAPSHOT: &str = "end of the snapshot";

/// A record that only the text format has; a binary file has notes in its place ([`MonitorRecord::note`]). It is not a
/// [`crate::record::Record`], so that code for those handles only what both formats can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum MonitorRecord<'a> {
    /// A thread begins to wait to be notified.
    Wait {
        /// The signature of the monitor's class, `Ljava/lang/Object;`.
        signature: Cow<'a, str>,
        /// The longest time it will wait, in milliseconds; 0 means without a limit.
        timeout: u64,
        /// The thread; 200000 if unknown.
        thread: ThreadSerial,
    },
    /// A thread's wait is over: it has been notified or interrupted, or the time is up.
    Waited {
        /// The signature of the monitor's class.
        signature: Cow<'a, str>,
        /// The time it waited, in milliseconds.
        time_waited: u64,
        /// The thread; 200000 if unknown.
        thread: ThreadSerial,
    },
    /// MONITOR DUMP.
    Dump {
        /// All live threads.
        threads: Cow<'a, [ThreadState]>,
        /// All monitors that threads want or wait for.
        monitors: Cow<'a, [MonitorState]>,
    },
    /// MONITOR TIME. Rows are ordered by time; those below the cutoff may be omitted.
    Time {
        /// The time of all rows, including omitted ones, in nanoseconds.
        total: u64,
        /// The number of waits in all rows, including omitted ones.
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
    /// Its name; empty if it has none.
    pub name: String,
    /// Its stack.
    pub trace: TraceSerial,
    /// Its state, with what it waits for.
    pub status: ThreadStatus,
    /// `true` if it has been suspended.
    pub suspended: bool,
    /// `true` if it has been interrupted and has not noticed yet.
    pub interrupted: bool,
    /// `true` if it runs native code.
    pub in_native: bool,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// `R`.
    Runnable,
    /// `SL`: in `Thread.sleep`.
    Sleeping,
    /// `MW`: wants a monitor that another thread owns.
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

/// A monitor in MONITOR DUMP. 200000 stands for an unknown thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorState {
    /// The signature of its class.
    pub signature: String,
    /// Its owner, and the number of times it was entered; `None` if nobody owns it.
    pub owner: Option<(ThreadSerial, u32)>,
    /// The threads that want it.
    pub entering: Vec<ThreadSerial>,
    /// The threads that wait to be notified.
    pub waiting: Vec<ThreadSerial>,
}

/// A row of MONITOR TIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContendedTime {
    /// The time that threads waited to enter, in nanoseconds.
    pub nanos: u64,
    /// The number of waits.
    pub count: u64,
    /// The stack.
    pub trace: TraceSerial,
    /// The class of the monitors.
    pub class: ClassSerial,
}
