//! A dump of the heap of a running program, which nobody keeps: there is none on Windows, where a program cannot be copied.

use std::convert::Infallible;
use std::path::Path;

use super::{Consent, Library, Program, no_agent};
use crate::failure::Failure;

/// A dump of a running program.
pub struct LiveDump(Infallible);

impl LiveDump {
    /// Says that it works on Linux.
    pub fn of(_: &Program, _: &Library, _: &Consent) -> Result<LiveDump, Failure> {
        Err(no_agent())
    }

    /// Returns the path of the dump.
    pub fn path(&self) -> &Path {
        match self.0 {}
    }
}
