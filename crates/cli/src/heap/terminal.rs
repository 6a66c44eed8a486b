//! How far long work is, on a terminal.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use hprof_heap::{Progress, Stage};

/// Nothing is said of work that takes less.
const PATIENCE: Duration = Duration::from_millis(500);

/// One line on the terminal behind the standard error, if there is one.
pub struct Terminal {
    start: Instant,
    is_terminal: bool,
    has_spoken: Cell<bool>,
}

impl Terminal {
    /// Starts the clock.
    pub fn new() -> Terminal {
        Terminal {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            has_spoken: Cell::new(false),
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.has_spoken.take() {
            // A terminal that is gone wants no answer.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for Terminal {
    fn at(&self, stage: Stage, done: u64, all: u64) {
        if !self.is_terminal || self.start.elapsed() < PATIENCE {
            return;
        }
        self.has_spoken.set(true);
        let percent = (done * 100).checked_div(all).unwrap_or(0);
        let _ = write!(io::stderr(), "\r{} {percent} %\x1b[K", stage.describe());
    }
}
