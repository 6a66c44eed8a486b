//! The threads of a program, which are not looked at on Windows.

use std::time::Duration;

use super::error::Error;
use super::process::Process;

/// A thread, and the CPU time that it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its number in the system.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The time.
    pub used: Duration,
}

/// Returns none.
pub(super) fn all(_: &Process) -> Vec<ThreadTime> {
    Vec::new()
}

/// Returns `None`: it is not known.
pub(super) fn attach_time(_: &Process) -> Option<Duration> {
    None
}

/// Returns no frames.
pub(super) fn stack(_: &Process, _: u32) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
