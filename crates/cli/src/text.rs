//! `hprof text`: converts a file to the form that `format=a` would have written.

use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use hprof_format::{Encoder, Item, ReadError, Reader, TextEncoder};

use crate::failure::Failure;
use crate::input;
use crate::output;

/// The number of bytes of text that are collected before they are written.
const CHUNK: usize = 64 * 1024;

/// Print a file in the text format (format=a)
///
/// Viewers and scripts that read the agent's text profiles read this output.
/// If the file is damaged or truncated, everything before that point is
/// printed, then the fault is reported with its byte offset.
///
/// The first line of a heap dump has the number of its objects and their bytes;
/// if the file does not have them, like those of the VM's own dumper, they are
/// counted first.
///
/// The description of the records at the start is that of this agent. It is
/// wrong about CPU samples of the JDK's own agent, whose files have ids of
/// 4 bytes: that one also charged threads that were blocked in native code.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file; `-` is the standard input
    file: PathBuf,

    /// Write to this file, readable only by its owner, instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Prints the file as text.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = match arguments.output.is_none() && io::stdout().is_terminal() {
        true => input::open(&arguments.file)?,
        false => input::open_watched(&arguments.file)?,
    };
    // A file that is not a profile must not overwrite an older output, so the output is opened last.
    let reader = Reader::new(source).map_err(|error| Failure::about(&arguments.file, error))?;
    match &arguments.output {
        Some(path) => {
            let file = output::create(path, [arguments.file.as_path()])?;
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

fn print(
    reader: Reader<impl Read + Seek>,
    input: &Path,
    output: impl Write,
    output_name: &Path,
) -> Result<(), Failure> {
    let mut printer = Printer {
        reader,
        encoder: TextEncoder::new(),
        text: BufWriter::with_capacity(CHUNK, output),
    };
    let (fault, written) = match printer.file() {
        Ok(()) => (None, printer.text.flush()),
        // Everything read before the fault is printed.
        Err(Stop::Read(fault)) => (Some(fault), printer.text.flush()),
        Err(Stop::Write(error)) => (None, Err(error)),
    };
    written.map_err(|error| Failure::writing(output_name, &error))?;
    match fault {
        Some(fault) => Err(Failure::about(input, fault)),
        None => Ok(()),
    }
}

/// The reason printing stopped before the end.
enum Stop {
    Read(ReadError),
    Write(io::Error),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Stop {
        Stop::Read(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Write(error)
    }
}

struct Printer<R, W: Write> {
    reader: Reader<R>,
    encoder: TextEncoder,
    text: BufWriter<W>,
}

impl<R: Read + Seek, W: Write> Printer<R, W> {
    fn file(&mut self) -> Result<(), Stop> {
        let mut head = Vec::new();
        self.encoder.start(self.reader.header().time, &mut head);
        self.text.write_all(&head)?;
        while let Some(entry) = self.reader.read()? {
            let (offset, time) = (entry.offset, entry.time);
            match entry.item {
                Item::Record(ref record) => self.encoder.write(time, record, &mut self.text)?,
                Item::HeapDumpEnd => self.encoder.heap_end(&mut self.text)?,
                Item::HeapDump { segment, .. } => {
                    if !self.encoder.has_heap_totals() {
                        let totals = self.reader.count_heap_dump(offset)?;
                        self.encoder.heap_totals(totals);
                    }
                    self.encoder.heap_segment(time, &mut self.text)?;
                    self.heap()?;
                    if !segment {
                        self.encoder.heap_end(&mut self.text)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Prints the records of a heap dump, or of a segment of one.
    fn heap(&mut self) -> Result<(), Stop> {
        let id_size = self.reader.header().id_size;
        while let Some(entry) = self.reader.read_heap()? {
            self.encoder
                .heap_item(id_size, &entry.item, &mut self.text)?;
        }
        Ok(())
    }
}
