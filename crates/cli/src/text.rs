//! `hprof text`: the file as `format=a` would have written it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hprof_format::{Encoder, Item, Reader, TextEncoder};

use crate::failure::Failure;
use crate::input;

/// Bytes of text that are gathered before they are written.
const CHUNK: usize = 64 * 1024;

/// Print a file in the text format (format=a)
///
/// Viewers and scripts that read the agent's text profiles read this output.
/// Heap dumps are left out. Where the file is damaged or cut off, everything
/// before that place is printed, then the fault is reported with its byte offset.
///
/// The description of the records at the start is that of this agent. It is
/// wrong about CPU samples of the JDK's own agent, whose files have ids of
/// 4 bytes: that one also charged threads that were blocked in native code.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file; `-` is the standard input
    file: PathBuf,

    /// Write to this file, created for its owner's eyes alone, instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = input::open(&arguments.file)?;
    // A file that is no profile must not cost the user an older output: it is opened last.
    let reader = Reader::new(source).map_err(|error| Failure::about(&arguments.file, error))?;
    match &arguments.output {
        Some(path) => {
            let file = create(path, &arguments.file)?;
            print(reader, &arguments.file, file, path)
        }
        None => print(
            reader,
            &arguments.file,
            io::stdout().lock(),
            Path::new("standard output"),
        ),
    }
}

fn create(path: &Path, input: &Path) -> Result<File, Failure> {
    if is_same(path, input) {
        return Err(Failure::about(
            path,
            "is the file to be read, and would be lost",
        ));
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| Failure::about(path, error))
}

fn is_same(path: &Path, input: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(path), fs::metadata(input)) else {
        return false;
    };
    !input::is_standard(input) && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn print(
    mut reader: Reader<impl Read>,
    input: &Path,
    mut output: impl Write,
    output_name: &Path,
) -> Result<(), Failure> {
    let mut encoder = TextEncoder::new();
    let mut text = Vec::new();
    encoder.start(reader.header().time, &mut text);
    let ended = loop {
        match reader.read() {
            Ok(Some(entry)) => {
                if let Item::Record(record) = &entry.item {
                    encoder.record(entry.time, record, &mut text);
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(Failure::about(input, error)),
        }
        if text.len() >= CHUNK {
            write(&mut output, &mut text, output_name)?;
        }
    };
    write(&mut output, &mut text, output_name)?;
    ended
}

fn write(output: &mut impl Write, text: &mut Vec<u8>, name: &Path) -> Result<(), Failure> {
    let written = output.write_all(text).and_then(|()| output.flush());
    text.clear();
    written.map_err(|error| Failure::writing(name, &error))
}
