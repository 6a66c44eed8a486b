//! The resource that a program ran out of when the agent wrote the file (`oom=`), from the head of the file.

use std::fmt;
use std::fs::File;

use hprof_format::{Reader, printable};
use hprof_os::files;
use serde::Serialize;

use crate::facts;

/// The bytes of the file that are read: its head is shorter.
const HEAD: usize = 256 * 1024;
/// The limit that the agent names when the Java heap is full.
const JAVA_HEAP: &str = "the Java heap is full";
/// The text between two frames.
const CALLED_BY: &str = " <- ";

/// The resource that the program ran out of, and where.
#[derive(Debug, Serialize)]
pub struct Exhausted {
    limit: String,
    heap: String,
    thread: String,
    stack: Vec<String>,
}

impl Exhausted {
    /// Returns `true` if the Java heap was full.
    pub fn is_of_java_heap(&self) -> bool {
        self.limit == JAVA_HEAP
    }

    /// Reads it; `None` if the file is of another kind.
    pub fn of(file: &File) -> Option<Exhausted> {
        let mut head = vec![0; HEAD];
        let count = files::read_at(file, &mut head, 0).ok()?;
        let mut reader = Reader::new(&head[..count]).ok()?;
        let facts = facts::read(&mut reader);
        let fact = |wanted: &str| {
            let found = facts.iter().find(|(label, _)| label == wanted);
            found.map(|(_, value)| value.clone())
        };
        let stack = fact("Stack").unwrap_or_default();
        let frames = stack.split(CALLED_BY).filter(|frame| !frame.is_empty());
        Some(Exhausted {
            limit: fact("Exhausted")?,
            heap: fact("Heap").unwrap_or_default(),
            thread: fact("Thread").unwrap_or_default(),
            stack: frames.map(str::to_owned).collect(),
        })
    }
}

/// Lines, of which the first has all but the callers.
impl fmt::Display for Exhausted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted {
            limit,
            heap,
            thread,
            stack,
        } = self;
        write!(out, "Out of memory: {}", printable(limit))?;
        if !heap.is_empty() {
            write!(out, " ({})", printable(heap))?;
        }
        write!(out, ", in thread \"{}\"", printable(thread))?;
        let mut stack = stack.iter();
        if let Some(top) = stack.next() {
            write!(out, " at {}", printable(top))?;
        }
        stack.try_for_each(|frame| write!(out, "\n  called by {}", printable(frame)))
    }
}
