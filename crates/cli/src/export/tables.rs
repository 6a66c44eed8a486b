//! Conversion of many files to tables.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hprof_format::printable;
use hprof_heap::Memory;
use hprof_tables::{Converted, Options, convert};

use crate::failure::Failure;
use crate::input;
use crate::terminal::Terminal;

/// The arguments that only tables have.
#[derive(clap::Args, Default)]
pub struct TableArguments {
    /// Add this label to the runs in table `label`, such as host=web1 or build=1.7 (tables)
    #[arg(long, value_name = "NAME=VALUE")]
    label: Vec<TableLabel>,

    /// Compute the retained size of each object of a heap dump (tables)
    #[arg(long)]
    retained: bool,

    /// The most memory for that (such as 512m or 4g), beyond which temporary files are used
    #[arg(long, value_name = "SIZE", requires = "retained", value_parser = crate::heap::options::memory)]
    memory: Option<u64>,

    /// With --retained, add the values of fields and the texts of strings, which may be secrets (tables)
    #[arg(long, requires = "retained")]
    values: bool,
}

/// A label of a run.
#[derive(Clone, Debug)]
struct TableLabel {
    name: String,
    value: String,
}

impl std::str::FromStr for TableLabel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<TableLabel, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok(TableLabel {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("a label is NAME=VALUE, neither empty"),
        }
    }
}

impl TableArguments {
    /// Returns `true` if none of these arguments was given.
    pub fn is_empty(&self) -> bool {
        self.label.is_empty() && !self.retained
    }

    /// Converts files; one that cannot be read does not stop the others.
    pub fn export(
        &self,
        files: &[PathBuf],
        section: Option<u32>,
        folder: &Path,
    ) -> Result<(), Failure> {
        let options = self.options(section)?;
        let mut failures = Vec::new();
        for file in files {
            match one(file, folder, &options) {
                Ok(converted) => {
                    print_row_counts(file, &converted);
                    if !converted.completeness.is_whole() {
                        failures.push(Failure::about(file, converted.completeness));
                    }
                }
                Err(failure) if failure.is_final => return Err(failure.failure),
                Err(failure) => failures.push(failure.failure),
            }
            // The caller reports the last one.
            if let [Failure::Message(message), _] = failures.as_slice() {
                let _ = writeln!(io::stderr(), "hprof: {}", printable(message));
                failures.remove(0);
            }
        }
        failures.pop().map_or(Ok(()), Err)
    }

    fn options(&self, section: Option<u32>) -> Result<Options, Failure> {
        let mut labels: Vec<(String, String)> = Vec::new();
        for TableLabel { name, value } in &self.label {
            if labels.iter().any(|(other, _)| other == name) {
                let message =
                    format!("--label {name}= is given twice; a run has one value of each");
                return Err(Failure::Message(message));
            }
            labels.push((name.clone(), value.clone()));
        }
        let memory = || self.memory.map_or_else(Memory::unlimited, Memory::limited);
        Ok(Options {
            section,
            labels,
            retained: self.retained.then(memory),
            values: self.values,
            path: None,
        })
    }
}

/// The reason a file was not converted, and whether the others need not be tried.
struct OneFailure {
    failure: Failure,
    is_final: bool,
}

fn one(file: &Path, folder: &Path, options: &Options) -> Result<Converted, OneFailure> {
    let opened = input::open_mappable(file).map_err(|failure| OneFailure {
        failure,
        is_final: false,
    })?;
    let terminal = Terminal::new();
    let name = file.display().to_string();
    let options = Options {
        path: Some(file.to_owned()),
        ..options.clone()
    };
    let converted = convert(opened, &name, folder, &options, &terminal);
    terminal.clear();
    converted.map_err(|error| OneFailure {
        is_final: error.is_output(),
        failure: match error.is_output() {
            true => Failure::Message(error.to_string()),
            false => Failure::about(file, error),
        },
    })
}

/// Prints one line with the run's id and the number of rows.
fn print_row_counts(file: &Path, converted: &Converted) {
    let name = file.display().to_string();
    let name = printable(&name);
    let rows = converted
        .rows
        .iter()
        .filter(|(table, rows)| *rows > 0 && *table != "run");
    let rows: Vec<String> = rows
        .map(|(table, rows)| format!("{table} {rows}"))
        .collect();
    let run = converted.run;
    // The reader may have closed the output; the tables are written.
    let _ = writeln!(io::stdout(), "{name}: run {run:016x}: {}", rows.join(", "));
    if let Some(fault) = &converted.births_fault {
        let message = printable(fault);
        let _ = writeln!(
            io::stderr(),
            "hprof: {name}: {message}; the births are left out"
        );
    }
    if converted.text_heap_dump {
        let why = "its heap dump is text and has no tables; format=b writes one that has";
        let _ = writeln!(io::stderr(), "hprof: {name}: {why}");
    }
}
