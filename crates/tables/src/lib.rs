//! HPROF files as Parquet tables, for SQL engines and data frames: `DIR/<table>/<run>.parquet`.
//!
//! [`convert`] reads one file, a run, in either format. docs/reference/tables.md describes the tables; [`TABLES`] has them as
//! data.
//!
//! # Example
//!
//! ```
//! use std::io::Write;
//! use hprof_heap::Silent;
//! use hprof_tables::{Options, convert};
//!
//! let mut file = tempfile::tempfile()?;
//! file.write_all(b"\
//! JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026
//! TRACE 300001:
//! \tShop.price(Shop.java:7)
//! CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:39:12 2026
//! rank   self  accum   count trace method
//!    1 100.00% 100.00%      10 300001 Shop.price
//! CPU SAMPLES END
//! ")?;
//! let folder = tempfile::tempdir()?;
//! let converted = convert(file, "shop.txt", folder.path(), &Options::default(), &Silent)?;
//! let parquet = folder.path().join(format!("cpu_sample/{:016x}.parquet", converted.run));
//! assert!(parquet.is_file());
//! assert!(converted.rows.contains(&("cpu_sample", 1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod buffer;
mod contents;
mod costs;
mod error;
mod file;
mod hash;
mod heap;
mod history;
mod names;
mod native;
mod output;
mod schema;
mod times;
mod waits;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use hprof_format::{
    Completeness, Item, RECORD_HEADER, Reader, Record, Section, StringRecord, TextItem, TextReader,
    is_text,
};
use hprof_heap::{Memory, Progress};

use costs::Costs;
use names::Names;
use output::Output;

pub use error::Error;
pub use schema::{ALL as TABLES, Column, Kind, Table};

/// The version of the tables, which is stored in each run: it is incremented when a column changes its meaning or is
/// removed.
pub const VERSION: i32 = 1;

/// The number of bytes of a file that identify its format.
const TELLING: u64 = 32;

/// The options of a conversion.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The dump of the run, from 1; `None` for the last one.
    pub section: Option<u32>,
    /// The user's labels of the run: names and values.
    pub labels: Vec<(String, String)>,
    /// Compute retained sizes, with that much memory for large tables.
    pub retained: Option<Memory>,
    /// With the retained sizes, write the values of fields and the texts of strings, too.
    pub values: bool,
    /// The path of the file, next to which its births file is, if there is one.
    pub path: Option<PathBuf>,
}

/// The result of a conversion.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The id of the run.
    pub run: i64,
    /// The tables, with the number of rows of each.
    pub rows: Vec<(&'static str, u64)>,
    /// `true` if there was a heap dump in the text format, which yields no tables.
    pub text_heap_dump: bool,
    /// The reason the births file next to it was left out, if it was.
    pub births_fault: Option<String>,
    /// How much of its heap dump the file has.
    pub completeness: Completeness,
}

/// Writes the tables of a file, which is not compressed, below `folder`; `name` is its name in table `run`.
///
/// Tables that cannot be completed are removed. Memory grows with the names and stacks of the program and not with its
/// objects, unless retained sizes are wanted, or there is a births file.
///
/// # Errors
/// [`Error`]; with the position, if the file is damaged.
pub fn convert(
    mut file: File,
    name: &str,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Converted, Error> {
    file.rewind()?;
    let (run, bytes) = hash::of_content(&file, options.section.unwrap_or_default())?;
    let mut out = Output::new(folder, run)?;
    let mut read = Run::read(&mut file, options, &mut out)?;
    let dump = match read.has_dump {
        true => heap::write(&file, options, &mut read.names, &mut out, progress)?,
        false => None,
    };
    read.check_section(options.section, dump.is_some())?;
    read.describe(name, bytes, options, &mut out)?;
    read.costs.write(&mut read.names, &mut out)?;
    read.names.finish(&mut out)?;
    Ok(Converted {
        run,
        rows: out.publish()?,
        text_heap_dump: read.text_heap_dump,
        completeness: dump
            .as_ref()
            .map_or(Completeness::Whole, |dump| dump.completeness),
        births_fault: dump
            .and_then(|dump| dump.births_fault)
            .map(|fault| fault.to_string()),
    })
}

/// The content of a file other than a heap dump.
struct Run {
    names: Names,
    costs: Costs,
    format: String,
    /// The time at which it began, in milliseconds since 1970.
    created: u64,
    has_dump: bool,
    text_heap_dump: bool,
}

impl Run {
    fn read(file: &mut File, options: &Options, out: &mut Output) -> Result<Run, Error> {
        let mut run = Run {
            names: Names::default(),
            costs: Costs::new(options.section),
            format: String::new(),
            created: 0,
            has_dump: false,
            text_heap_dump: false,
        };
        let mut host = options.labels.iter().filter(|(name, _)| name == "host");
        run.names.host = host.next_back().map(|(_, host)| host.clone());
        let mut start = Vec::new();
        file.rewind()?;
        Read::take(&*file, TELLING).read_to_end(&mut start)?;
        file.rewind()?;
        match is_text(&start) {
            true => run.read_text(&*file, out)?,
            false => run.read_binary(&*file, out)?,
        }
        Ok(run)
    }

    fn read_binary(&mut self, file: &File, out: &mut Output) -> Result<(), Error> {
        let mut reader = Reader::new(file)?;
        let header = reader.header();
        (self.format, self.created) = (header.version.to_string(), header.time.0);
        while let Some(entry) = reader.read()? {
            match entry.item {
                Item::Record(record) => self.record(&record, out)?,
                // It is read later, by a separate reader, which also detects if it is incomplete.
                Item::HeapDump { length, .. } => {
                    self.has_dump = true;
                    let end = entry.offset + RECORD_HEADER as u64 + u64::from(length);
                    reader.seek(end)?;
                }
                Item::HeapDumpEnd => {}
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Output) -> Result<(), Error> {
        if let Record::String(StringRecord { id, text }) = record
            && id.is_fact()
            && let Some((label, value)) = String::from_utf8_lossy(text).split_once(": ")
        {
            self.costs.fact(label, value);
        }
        match Section::of(record) {
            Some(section) => self.costs.section(&section, &mut self.names),
            None => self.names.record(record, out)?,
        }
        Ok(())
    }

    fn read_text(&mut self, file: &File, out: &mut Output) -> Result<(), Error> {
        let mut reader = TextReader::new(BufReader::with_capacity(1 << 16, file))?;
        (self.format, self.created) = ("text".to_owned(), reader.time().0);
        for (label, value) in reader.facts() {
            self.costs.fact(label, value);
        }
        while let Some(entry) = reader.read()? {
            match entry.item {
                TextItem::Record(record) => self.record(&record, out)?,
                TextItem::Monitor(record) => {
                    if let Some(section) = Section::of_monitor(&record) {
                        self.costs.section(&section, &mut self.names);
                    }
                }
                TextItem::Timing(timing) => {
                    let section = Section::CallTimes(&timing);
                    self.costs.section(&section, &mut self.names);
                }
                TextItem::HeapDump { .. } => self.text_heap_dump = true,
            }
        }
        Ok(())
    }

    fn check_section(&self, wanted: Option<u32>, has_dump: bool) -> Result<(), Error> {
        let sections = self.costs.sections();
        match wanted {
            Some(wanted) if (wanted == 0 || wanted > sections) && !has_dump => {
                Err(Error::NoSection { wanted, sections })
            }
            _ => Ok(()),
        }
    }

    fn describe(
        &self,
        name: &str,
        bytes: u64,
        options: &Options,
        out: &mut Output,
    ) -> Result<(), Error> {
        let sections = self.costs.sections();
        let section = options.section.unwrap_or(sections);
        let created = (self.created != 0).then_some(self.created.cast_signed());
        let notes = self.names.notes.join("\n");
        out.run_row.row(|row| {
            row.text(name)
                .text(&*self.format)
                .long(bytes.cast_signed())
                .long(created)
                .int(section.cast_signed())
                .int(sections.cast_signed())
                .text((!notes.is_empty()).then_some(&*notes))
                .int(VERSION);
        })?;
        for (name, value) in &options.labels {
            out.label.row(|row| {
                row.text(&**name).text(&**value);
            })?;
        }
        Ok(())
    }
}
