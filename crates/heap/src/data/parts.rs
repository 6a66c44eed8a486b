//! The parts of a dump that threads read at the same time.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::progress::{Progress, Silent};

/// The size in bytes below which a part is not worth a thread.
const LEAST_PART: u64 = 1 << 20;
/// The size in bytes below which a piece is not worth a turn.
const LEAST_PIECE: usize = 128 << 10;

/// Small ranges of a dump's content, each with whole records, in the file's order.
pub(crate) struct Pieces {
    ranges: Vec<Range<usize>>,
    /// The end, among the ranges, of each piece.
    ends: Vec<usize>,
}

impl Pieces {
    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the ranges of a piece.
    pub(crate) fn get(&self, piece: usize) -> &[Range<usize>] {
        let start = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ranges[start..self.ends[piece]]
    }
}

impl Dump {
    /// Splits its segments into as many parts as there are threads, all of about the same length, in the file's order.
    fn parts(&self) -> Vec<&[Range<usize>]> {
        let segments = self.segments();
        let each = (self.length() / self.threads() as u64).max(LEAST_PART);
        let mut parts = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, segment) in segments.iter().enumerate() {
            bytes += segment.len() as u64;
            if bytes >= each {
                parts.push(&segments[start..=index]);
                (start, bytes) = (index + 1, 0);
            }
        }
        if start < segments.len() || parts.is_empty() {
            parts.push(&segments[start..]);
        }
        parts
    }

    /// Runs `pass` for each part, on a thread of its own except for the first, which runs here and may report progress.
    pub(crate) fn in_parts<T: Send>(
        &self,
        progress: &dyn Progress,
        pass: impl Fn(&[Range<usize>], &dyn Progress) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let parts = self.parts();
        thread::scope(|scope| {
            let run = |part| {
                let pass = &pass;
                let started =
                    thread::Builder::new().spawn_scoped(scope, move || pass(part, &Silent));
                // If another thread cannot be created, this one does the work.
                started.map_err(|_| part)
            };
            let others: Vec<_> = parts[1..].iter().map(|&part| run(part)).collect();
            let first = pass(parts[0], progress);
            let others = others.into_iter().map(|started| match started {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(part) => pass(part, progress),
            });
            // Of several faults the first in the file counts.
            std::iter::once(first).chain(others).collect()
        })
    }

    /// Splits its content into small pieces at some of the offsets, at which records begin, in the file's order.
    pub(crate) fn pieces(&self, offsets: impl Iterator<Item = u64>) -> Pieces {
        let mut offsets = offsets.map(|offset| offset as usize).peekable();
        let (mut ranges, mut ends) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        let mut add = |range: Range<usize>| {
            bytes += range.len();
            ranges.push(range);
            if bytes >= LEAST_PIECE {
                ends.push(ranges.len());
                bytes = 0;
            }
        };
        for segment in self.segments() {
            let mut start = segment.start;
            while let Some(offset) = offsets.next_if(|&offset| offset < segment.end) {
                if offset > start {
                    add(start..offset);
                    start = offset;
                }
            }
            add(start..segment.end);
        }
        if ends.last().is_none_or(|&end| end < ranges.len()) {
            ends.push(ranges.len());
        }
        Pieces { ranges, ends }
    }
}
