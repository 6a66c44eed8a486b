//! The state of all threads and monitors at one time.

use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;

/// All threads, and all monitors that they want or wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MonitorStates {
    /// The threads, by their numbers.
    pub threads: Vec<ThreadState>,
    /// The monitors.
    pub monitors: Vec<MonitorState>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread.
    pub thread: ThreadSerial,
    /// Its name; empty where it has none.
    pub name: String,
    /// What it is at.
    pub trace: TraceId,
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
    /// It runs, or could.
    Runnable,
    /// In `Thread.sleep`.
    Sleeping,
    /// It wants a monitor.
    Entering,
    /// It waits to be notified, or is parked.
    Waiting,
    /// It has ended.
    Ended,
    /// It has not started.
    NotStarted,
    /// None of these.
    Unknown,
}

/// A monitor. [`ThreadSerial::UNKNOWN`] stands for a thread that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorState {
    /// The signature of its class, `Ljava/lang/Object;`.
    pub signature: String,
    /// Who has it, and how many times it was entered.
    pub owner: Option<(ThreadSerial, u32)>,
    /// Who wants it.
    pub entering: Vec<ThreadSerial>,
    /// Who waits to be notified.
    pub waiting: Vec<ThreadSerial>,
}
