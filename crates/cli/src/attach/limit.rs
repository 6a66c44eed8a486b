//! How long a program is waited for. It may be silent for any time: at a safepoint, in a debugger, or because it wants to be.

use std::time::{Duration, Instant};

use super::error::Error;
use crate::interrupts;

/// The end of a wait: a moment, or the next signal that asks this command to end.
#[derive(Clone, Copy)]
pub struct Limit {
    pid: u32,
    end: Instant,
    longest: Duration,
    signals: usize,
}

impl Limit {
    /// Starts the time in which this process must answer.
    pub fn start(pid: u32, longest: Duration) -> Limit {
        Limit {
            pid,
            end: Instant::now() + longest,
            longest,
            signals: interrupts::counted(),
        }
    }

    /// Returns an error if the time is over.
    pub fn check(&self) -> Result<(), Error> {
        if interrupts::counted() > self.signals {
            return Err(Error::Interrupted(self.pid));
        }
        match Instant::now() < self.end {
            true => Ok(()),
            false => Err(Error::NoAnswer {
                pid: self.pid,
                seconds: self.longest.as_secs(),
            }),
        }
    }

    /// Returns the process.
    pub fn process(&self) -> u32 {
        self.pid
    }
}
