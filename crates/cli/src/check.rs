//! `hprof check`: verifies a file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hprof_format::{Occurrences, compare_redacted, printable};

use crate::failure::Failure;
use crate::input;

/// Verify a file's structure and references, and count its records
///
/// Every record must be complete, as long as its content, and may name only
/// strings, classes, threads, frames and stacks that are defined before it in
/// the file. In heap dumps, every reference must lead to an object of the same
/// dump, and every instance must have the fields of its class. The first fault
/// is reported with its byte offset. A valid file yields one line for each kind
/// of record, with their number; records in heap dumps are indented.
///
/// Habits of the JDK's own agent and of old versions of jmap are counted as
/// warnings: a record names a thread that was not started; an array or a global
/// reference refers to an object that is not in the dump; a class states a size
/// of its instances that differs from that of its fields; a class is unloaded
/// that was not loaded; a string, frame or trace is defined twice. With
/// --strict they are faults.
///
/// Memory: two bits for every 8 bytes of the heap that was dumped, and some
/// bytes for each string, class and stack. Dumps of the VM's own dumper are
/// verified too, except for the parts that HotSpot omits.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file; `-` is the standard input
    file: PathBuf,

    /// Treat the habits of old tools as faults, too
    #[arg(long)]
    strict: bool,

    /// Verify that this is what `hprof redact` made of ORIGINAL, with nothing of
    /// the content of its heap dumps left
    #[arg(
        long,
        value_name = "ORIGINAL",
        conflicts_with = "strict",
        verbatim_doc_comment
    )]
    redacted_from: Option<PathBuf>,
}

/// Verifies the file and prints its summary.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(original) = &arguments.redacted_from {
        return compare(original, &arguments.file);
    }
    let source = input::open_watched(&arguments.file)?;
    let checked = if arguments.strict {
        hprof_format::check(source)
    } else {
        hprof_format::check_tolerantly(source)
    };
    let summary = checked.map_err(|fault| Failure::about(&arguments.file, fault))?;
    for (warning, Occurrences { count, first }) in &summary.warnings {
        let file = arguments.file.display().to_string();
        // If nobody can read a warning, nothing else is lost.
        let _ = writeln!(
            io::stderr(),
            "hprof: {}: warning: {warning} ({count} times, first at byte {first})",
            printable(&file)
        );
    }
    let mut out = io::stdout().lock();
    write!(out, "{summary}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::writing(Path::new("standard output"), &error))
}

/// Compares a redacted file with its original.
fn compare(original: &Path, redacted: &Path) -> Result<(), Failure> {
    let compared = compare_redacted(input::open_watched(original)?, input::open(redacted)?);
    let objects = compared.map_err(|error| Failure::about(redacted, error))?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{objects} objects, roots and classes compared: no content is left"
    )
    .and_then(|()| out.flush())
    .map_err(|error| Failure::writing(Path::new("standard output"), &error))
}
