//! `hprof redact`: a copy of a heap dump without its content.

use std::io::{self, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::{
    ReadError, Reader, RedactError, RedactKey, RedactSelection, RedactTotals, redact,
};

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::random;

/// Copy a heap dump without its content, to give it to others
///
/// The copy has the same objects with the same sizes, references, threads and
/// allocation sites, so that `hprof heap` and other tools find the same leaks in
/// it. Strings and arrays of numbers become pseudonyms of the same length; equal
/// ones stay equal. Numbers in fields become 0, except for those that tell how
/// full the JDK's collections are. The names of classes, methods, fields and
/// threads stay, unless --names asks for pseudonyms of all that are not the
/// JDK's. String literals go, and in the head of the file the arguments of the
/// program, system properties, and values of flags and options that are neither
/// numbers nor known words.
///
/// A pattern is a class (`com.acme.Vault`, `byte[]`) or the class and method of a
/// frame (`com.acme.Vault.*`), for all that was allocated below it; `*` stands for
/// any number of characters. What a string says is in its array, so a frame is
/// usually what is meant.
///
/// Pseudonyms are made with a random key that is kept nowhere. An array of a few
/// bytes has few possible contents: which of them are equal can still be seen.
///
/// Memory grows with the number of classes and names, not of objects. The input
/// is read three times; what comes from a pipe is kept in a temporary file
/// without a name meanwhile, which only its owner can read. An output whose name
/// ends in .gz is compressed. `hprof check --redacted-from` verifies the copy.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file, in the binary form, compressed or not; `-` is the standard input
    file: PathBuf,

    /// The file to write, readable only by its owner; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Leave the content of these classes, or of what these frames allocated
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,

    /// Remove only the content of these classes, or of what these frames allocated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,

    /// Give pseudonyms to the program's classes, methods, fields and threads, too
    #[arg(long)]
    names: bool,
}

/// Writes the copy.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut random_bytes = [0; 16];
    random::fill(&mut random_bytes)
        .map_err(|error| Failure::Message(format!("no random numbers: {error}")))?;
    let selection = RedactSelection {
        keep: arguments.keep.clone(),
        only: arguments.only.clone(),
        names: arguments.names,
    };
    let failed = |error: ReadError| Failure::about(&arguments.file, error);
    let reader = Reader::new(input::open_watched(&arguments.file)?).map_err(failed)?;
    let key = RedactKey::new(&random_bytes);
    let output = Output::open(Some(&arguments.output), &arguments.file)?;
    let name = output.name.clone();
    let is_compressed = arguments.output.extension().is_some_and(|end| end == "gz");
    let mut redacted = Ok(RedactTotals::default());
    let written = output.write(|out| {
        redacted = match is_compressed {
            true => {
                let mut compressed = GzEncoder::new(out, Compression::fast());
                let redacted = redact(reader, key, selection, &mut compressed);
                compressed.finish()?;
                redacted
            }
            false => redact(reader, key, selection, &mut { out }),
        };
        match redacted {
            Ok(_) => Ok(()),
            // It is reported below; the part that was written is removed.
            Err(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    });
    let totals = redacted.map_err(|error| match error {
        RedactError::Write(error) => Failure::writing(&name, &error),
        error => Failure::about(&arguments.file, error),
    })?;
    written?;
    // If nobody can read it, nothing else is lost.
    let _ = writeln!(
        io::stderr(),
        "hprof: removed the content of {} objects and classes, kept that of {}",
        totals.redacted,
        totals.kept
    );
    Ok(())
}
