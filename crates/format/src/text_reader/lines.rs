//! The lines of a file, with their numbers.

use std::io::{BufRead, BufReader, Read};

use super::TextError;
use crate::printable::printable;

/// The most bytes of a line: names have at most 64 KB, and a line holds at most three.
const LIMIT: u64 = 1 << 20;
/// The number of bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// The number of characters of a line that an error shows.
const SHOWN: usize = 80;

/// Reads one line after another, without their ends. Bytes that are not UTF-8 are read as U+FFFD.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: BufReader<R>,
    line: String,
    number: u64,
    /// `true` if the line is to be returned again.
    again: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(source: R) -> Lines<R> {
        Lines {
            source: BufReader::with_capacity(PIECE, source),
            line: String::new(),
            number: 0,
            again: false,
        }
    }

    /// Returns the next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&str>, TextError> {
        if std::mem::take(&mut self.again) {
            return Ok(Some(&self.line));
        }
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let line = self.number + 1;
        let mut limited = self.source.by_ref().take(LIMIT + 1);
        let count = limited
            .read_until(b'\n', &mut bytes)
            .map_err(|error| TextError::Io { line, error })?;
        if count == 0 {
            return Ok(None);
        }
        self.number = line;
        if count as u64 > LIMIT {
            return Err(TextError::Long { line, limit: LIMIT });
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        self.line = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Some(&self.line))
    }

    /// Returns the next line of a record that began at `start`.
    pub(super) fn within(&mut self, record: &'static str, start: u64) -> Result<&str, TextError> {
        self.next()?.ok_or(TextError::Cut { start, record })
    }

    /// Makes the line that was just read the next one again.
    pub(super) fn put_back(&mut self) {
        self.again = true;
    }

    /// Returns the line that was just read.
    pub(super) fn text(&self) -> &str {
        &self.line
    }

    /// Returns its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the error for a line that does not fit the format.
    pub(super) fn unexpected(&self, expected: &'static str) -> TextError {
        let shown: String = self.line.chars().take(SHOWN).collect();
        TextError::Unexpected {
            line: self.number,
            expected,
            found: printable(&shown).into_owned(),
        }
    }
}
