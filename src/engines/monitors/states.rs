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
    /// Its name; empty if it has none.
    pub name: String,
    /// Its stack.
    pub trace: TraceId,
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
    /// It runs, or could run.
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

/// A monitor. [`ThreadSerial::UNKNOWN`] stands for an unknown thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorState {
    /// The signature of its class, `Ljava/lang/Object;`.
    pub signature: String,
    /// Its owner, and the number of times it was entered.
    pub owner: Option<(ThreadSerial, u32)>,
    /// The threads that want it.
    pub entering: Vec<ThreadSerial>,
    /// The threads that wait to be notified.
    pub waiting: Vec<ThreadSerial>,
}
