//! How far long work is, on a terminal.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use hprof_format::printable;
use hprof_heap::{Progress, Stage};

/// Nothing is said of work that takes less.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The line changes no more often than this.
const PAUSE: Duration = Duration::from_millis(100);
/// Letters of a file's name that are shown, so that the line fits.
const SHOWN: usize = 40;

/// One line on the terminal behind the standard error, if there is one. It goes with this.
pub struct Terminal {
    is_terminal: bool,
    next: Cell<Instant>,
    has_spoken: Cell<bool>,
}

impl Terminal {
    /// Starts the clock.
    pub fn new() -> Terminal {
        Terminal {
            is_terminal: io::stderr().is_terminal(),
            next: Cell::new(Instant::now() + TIMEOUT),
            has_spoken: Cell::new(false),
        }
    }

    /// Shows a line, when it is time for one.
    pub fn show(&self, line: impl Display) {
        if !self.is_terminal {
            return;
        }
        let now = Instant::now();
        if now < self.next.get() {
            return;
        }
        self.next.set(now + PAUSE);
        self.has_spoken.set(true);
        // A terminal that is gone wants no answer.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.has_spoken.take() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for Terminal {
    fn at(&self, stage: Stage, done: u64, all: u64) {
        let percent = (done * 100).checked_div(all).unwrap_or(0);
        self.show(format_args!("{} {percent} %", stage.describe()));
    }
}

/// A file that shows how far it has been read or written.
pub struct Watched<F> {
    file: F,
    terminal: Terminal,
    /// What is done, and with which file.
    what: String,
    done: u64,
    /// All that there is to read, where that is known.
    all: Option<u64>,
}

impl<F> Watched<F> {
    /// A file that is read; `all` is its length.
    pub fn reading(file: F, path: &Path, all: Option<u64>) -> Watched<F> {
        Watched::new(file, "reading", path, all)
    }

    /// A file that is written.
    pub fn writing(file: F, path: &Path) -> Watched<F> {
        Watched::new(file, "writing", path, None)
    }

    fn new(file: F, doing: &str, path: &Path, all: Option<u64>) -> Watched<F> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy();
        let name: String = printable(&*name).chars().take(SHOWN).collect();
        Watched {
            file,
            terminal: Terminal::new(),
            what: format!("{doing} {name}"),
            done: 0,
            all: all.filter(|&all| all > 0),
        }
    }

    fn at(&mut self, done: u64) {
        self.done = done;
        let what = &self.what;
        match self.all {
            Some(all) => {
                let percent = done.saturating_mul(100) / all;
                self.terminal.show(format_args!("{what} {percent} %"));
            }
            None => {
                let megabytes = done as f64 / 1e6;
                self.terminal.show(format_args!("{what} {megabytes:.1} MB"));
            }
        }
    }
}

impl<F: Read> Read for Watched<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.at(self.done + count as u64);
        Ok(count)
    }
}

impl<F: Seek> Seek for Watched<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.file.seek(to)?;
        self.done = position;
        Ok(position)
    }
}

impl<F: Write> Write for Watched<F> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buffer)?;
        self.at(self.done + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
