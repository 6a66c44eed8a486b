//! The options for reading a dump and printing the answer.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;

use clap::Args;
use hprof_format::ObjectId;
use hprof_heap::{Excluded, Layout, Memory, Options};
use hprof_os::memory;
use serde::Serialize;

use super::incomplete::Sources;
use super::opened::OpenedDump;
use crate::failure::Failure;
use crate::size;

/// The share of the free memory for large tables, as one in so many. The rest is for the pages of the dump, which are
/// read again and again.
const SHARE: u64 = 2;

/// The options that all commands have in common.
#[derive(Args)]
pub struct Reading {
    /// Print JSON; sizes are in bytes
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub graph: GraphReading,
    /// Neither use nor write an index of the dump
    #[arg(long)]
    no_index: bool,
}

/// The options for reading the graph of a dump.
#[derive(Args)]
pub struct GraphReading {
    /// The VM's object layout, in bytes: header (8, 12 or 16), references (4 or 8), alignment; detected by default
    #[arg(long, value_name = "HEADER,REFERENCE,ALIGNMENT")]
    pub layout: Option<Layout>,
    /// References that do not keep their targets alive: weak, soft, phantom, finalizer, or none of them
    #[arg(long, value_name = "KINDS", default_value = "weak,phantom")]
    exclude: Excluded,
    /// The most memory for large tables (such as 4g), beyond which temporary files are used [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// The most threads that read a dump at the same time; the answer does not depend on it [default: one for each processor]
    #[arg(long, value_name = "NUMBER", value_parser = threads)]
    pub threads: Option<NonZero<usize>>,
}

/// The choice among the dumps of a file.
#[derive(Args)]
pub struct Choice {
    /// The number of the dump in a file with several, from 1 [default: the last]
    #[arg(long, value_name = "NUMBER", value_parser = dump_number)]
    pub dump: Option<usize>,
}

impl GraphReading {
    /// Returns the options for reading the graph.
    pub fn options(&self) -> Options {
        Options {
            layout: self.layout,
            excluded: self.exclude,
            memory: self.memory.map_or_else(usual_memory, Memory::limited),
        }
    }
}

impl Reading {
    /// Leaves the index out: nobody will ask about the dump again.
    pub fn leave_index_out(&mut self) {
        self.no_index = true;
    }

    /// Opens a file for one of its dumps.
    pub fn open<'p>(
        &self,
        file: &'p Path,
        number: Option<usize>,
    ) -> Result<OpenedDump<'p>, Failure> {
        let opened = OpenedDump::of(file, number, !self.no_index)?;
        Ok(opened.with_threads(self.graph.threads))
    }

    /// Prints the answer in the requested form; as text, below the lines about the runs. Fails after that if a dump is not
    /// whole.
    pub fn print(
        &self,
        sources: &Sources,
        answer: &impl Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = if self.json {
            self::json(answer, sources.incomplete(), &mut out)
        } else {
            let mut runs = sources.runs.iter();
            runs.try_for_each(|run| writeln!(out, "{run}"))
                .and_then(|()| text(&mut out))
        };
        written
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        sources.check()
    }
}

/// Writes the answer as JSON; an object gets a field with the lines about dumps that are not whole.
fn json(answer: &impl Serialize, incomplete: &[String], out: &mut impl Write) -> io::Result<()> {
    if incomplete.is_empty() {
        serde_json::to_writer_pretty(&mut *out, answer)?;
        return writeln!(out);
    }
    let mut answer = serde_json::to_value(answer)?;
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("incomplete".to_owned(), incomplete.into());
    }
    serde_json::to_writer_pretty(&mut *out, &answer)?;
    writeln!(out)
}

/// Parses the id of an object, hexadecimal after `0x`, otherwise decimal.
pub fn object_id(text: &str) -> Result<ObjectId, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number
        .map(ObjectId)
        .map_err(|_| "an id is a number such as 0x7f00 or 32512".to_owned())
}

/// Returns the memory for large tables if none is given: a share of what is free.
pub fn usual_memory() -> Memory {
    memory::available().map_or_else(Memory::unlimited, |free| Memory::limited(free / SHARE))
}

/// Parses the number of a dump.
pub fn dump_number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("dumps are counted from 1".to_owned()),
    }
}

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "must be 1 or more".to_owned())
}

/// Parses a percentage of the heap.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("must be above 0, and at most 100".to_owned()),
    }
}

/// Parses a number of bytes, which may be 0.
pub fn memory(text: &str) -> Result<u64, String> {
    size::parse(text)
        .ok_or_else(|| "must be a number of bytes, with an optional k, m or g: 512m, 4g".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_thread_at_least() {
        assert_eq!(threads("2").map(NonZero::get), Ok(2));
        for text in ["", "0", "-1", "all", "99999999999999999999"] {
            threads(text).expect_err(text);
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(memory("4g"), Ok(4 << 30));
        assert_eq!(memory("512M"), Ok(512 << 20));
        assert_eq!(memory("7"), Ok(7));
        for text in ["", "g", "4x", "-1", "99999999999g"] {
            memory(text).expect_err(text);
        }
    }
}
