//! The progress of long operations, on a terminal.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use hprof_format::printable;
use hprof_heap::{Progress, Stage};

use crate::amounts::number;

/// The time from which progress is shown.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The shortest time between two changes of the line.
const PAUSE: Duration = Duration::from_millis(100);
/// The most letters of a file's name that are shown, so that the line fits.
const SHOWN: usize = 40;

/// A line on the terminal behind the standard error, if there is one. Cleared on drop.
pub struct Terminal {
    is_terminal: bool,
    next: Cell<Instant>,
    has_spoken: Cell<bool>,
    /// The stage of a long operation, and when it began.
    stage: Cell<Option<(Stage, Instant)>>,
    /// The objects found so far.
    objects: Cell<u64>,
}

impl Terminal {
    /// Starts the clock.
    pub fn new() -> Terminal {
        Terminal {
            is_terminal: io::stderr().is_terminal(),
            next: Cell::new(Instant::now() + TIMEOUT),
            has_spoken: Cell::new(false),
            stage: Cell::new(None),
            objects: Cell::new(0),
        }
    }

    /// Shows a line, if it is time for one.
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
        // If the terminal is gone, that does not matter.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    /// Clears the line.
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
        let began = match self.stage.get() {
            Some((known, began)) if known == stage => began,
            _ => Instant::now(),
        };
        self.stage.set(Some((stage, began)));
        let percent = (done * 100).checked_div(all).unwrap_or(0);
        let what = stage.describe();
        let objects = match self.objects.get() {
            0 => String::new(),
            objects => format!(", {} objects", number(objects)),
        };
        match time_left(began.elapsed(), done, all) {
            Some(left) => self.show(format_args!(
                "{what} {percent} %{objects}, {} s left",
                left.as_secs()
            )),
            None => self.show(format_args!("{what} {percent} %{objects}")),
        }
    }

    fn objects(&self, count: u64) {
        self.objects.set(count);
    }
}

/// Returns the time that the rest of a stage takes if it continues as before; `None` as long as that says little.
fn time_left(passed: Duration, done: u64, all: u64) -> Option<Duration> {
    let says_much = passed >= Duration::from_secs(1) && done < all && done >= all / 20;
    says_much.then(|| passed.mul_f64((all - done) as f64 / done.max(1) as f64))
}

/// A file that shows how far it has been read or written.
pub struct Watched<F> {
    file: F,
    terminal: Terminal,
    /// The operation and the file.
    what: String,
    done: u64,
    /// The total number of bytes, if known.
    all: Option<u64>,
}

impl<F> Watched<F> {
    /// Wraps a file that is read; `all` is its length.
    pub fn reading(file: F, path: &Path, all: Option<u64>) -> Watched<F> {
        Watched::new(file, "reading", path, all)
    }

    /// Wraps a file that is written.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_when_it_is_known() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(seconds(10), 50, 100), Some(seconds(10)));
        assert_eq!(time_left(seconds(4), 80, 100), Some(seconds(1)));
        for (passed, done, all) in [(0, 50, 100), (10, 4, 100), (10, 100, 100), (10, 0, 0)] {
            assert_eq!(time_left(seconds(passed), done, all), None);
        }
    }
}
