//! `hprof text`: converts a file to the form that `format=a` would have written.

use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use hprof_format::{Encoder, Item, ReadError, Reader, Record, Source, StringRecord, TextEncoder};

use crate::facts;
use crate::failure::Failure;
use crate::input;
use crate::output;

/// The number of bytes of text that are collected before they are written.
const CHUNK: usize = 64 * 1024;
/// The bytes of text that are allowed for each byte of the file before the current record. Files of real programs need about
/// two, and fewer than 30 if they contain nothing but deep stacks.
const FOLD: u64 = 100;
/// The bytes of text that are allowed for any file.
const ALWAYS: u64 = 64 << 20;

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
/// A file can be crafted so that it repeats long texts. If the text exceeds
/// 64 MB plus a hundred times the file, printing stops with an error unless
/// --no-limit is given.
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

    /// Print everything, however long the text becomes
    #[arg(long)]
    no_limit: bool,
}

/// Prints the file as text.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = match arguments.output.is_none() && io::stdout().is_terminal() {
        true => input::open(&arguments.file)?,
        false => input::open_watched(&arguments.file)?,
    };
    print_to(arguments, source)
}

/// Prints a profile that was read from `file`.
pub fn print_profile(
    profile: Box<dyn Source>,
    file: &Path,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let arguments = Arguments {
        file: file.to_owned(),
        output: output.map(Path::to_owned),
        no_limit: false,
    };
    print_to(&arguments, profile)
}

fn print_to(arguments: &Arguments, source: Box<dyn Source>) -> Result<(), Failure> {
    // A file that is not a profile must not overwrite an older output, so the output is opened last.
    let reader = Reader::new(source).map_err(|error| Failure::about(&arguments.file, error))?;
    match &arguments.output {
        Some(path) if !input::is_standard(path) => {
            let file = output::create(path, [arguments.file.as_path()])?;
            print(reader, arguments, file, Some(path))
        }
        _ => print(reader, arguments, io::stdout().lock(), None),
    }
}

fn print(
    reader: Reader<impl Read + Seek>,
    arguments: &Arguments,
    output: impl Write,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let not_written = |error: &io::Error| {
        path.inspect(|path| output::remove(path));
        Failure::writing(path.unwrap_or(Path::new("standard output")), error)
    };
    let mut printer = Printer {
        reader,
        encoder: TextEncoder::new(),
        text: Bounded::new(output, arguments.no_limit),
    };
    let stopped = printer.file();
    let text = printer.text;
    let fault = match stopped {
        Ok(()) => None,
        Err(Stop::Read(fault)) => Some(fault.to_string()),
        Err(Stop::Write(error)) if !text.is_exceeded => {
            return Err(not_written(&error));
        }
        Err(Stop::Write(_)) => Some(text.refusal()),
    };
    // Everything read before the fault is printed.
    let written = text.flushed();
    written.map_err(|error| not_written(&error))?;
    fault.map_or(Ok(()), |fault| Err(Failure::about(&arguments.file, fault)))
}

/// A writer of text that fails when the text becomes too long for its file.
struct Bounded<W: Write> {
    text: BufWriter<W>,
    written: u64,
    /// The limit of `written`; `None` if there is none.
    most: Option<u64>,
    /// The offset of the record that is being printed.
    offset: u64,
    is_exceeded: bool,
}

impl<W: Write> Bounded<W> {
    fn new(output: W, no_limit: bool) -> Bounded<W> {
        Bounded {
            text: BufWriter::with_capacity(CHUNK, output),
            written: 0,
            most: (!no_limit).then_some(ALWAYS),
            offset: 0,
            is_exceeded: false,
        }
    }

    /// Raises the limit: the record at `offset` is printed next.
    fn reached(&mut self, offset: u64) {
        self.offset = offset;
        if let Some(most) = &mut self.most {
            *most = ALWAYS.saturating_add(offset.saturating_mul(FOLD));
        }
    }

    fn refusal(&self) -> String {
        format!(
            "byte {}: the text has {} bytes up to here, more than {FOLD} times the file; --no-limit prints it anyway",
            self.offset, self.written
        )
    }

    fn flushed(mut self) -> io::Result<()> {
        self.text.flush()
    }
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.written.saturating_add(piece.len() as u64);
        if self.most.is_some_and(|most| written > most) {
            self.is_exceeded = true;
            return Err(io::Error::other("too much text"));
        }
        self.written = written;
        self.text.write_all(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.text.flush()
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
    text: Bounded<W>,
}

impl<R: Read + Seek, W: Write> Printer<R, W> {
    fn file(&mut self) -> Result<(), Stop> {
        let facts = self.facts()?;
        let mut head = Vec::new();
        self.encoder = TextEncoder::of_run(facts);
        self.encoder.start(self.reader.header().time, &mut head);
        self.text.write_all(&head)?;
        while let Some(entry) = self.reader.read()? {
            let (offset, time) = (entry.offset, entry.time);
            self.text.reached(offset);
            match entry.item {
                Item::Record(Record::String(StringRecord { id, .. })) if id.is_fact() => {}
                Item::Record(ref record) => self.encoder.write(time, record, &mut self.text)?,
                Item::HeapDumpEnd => self.encoder.heap_end(&mut self.text)?,
                Item::HeapDump { segment, .. } => {
                    if !self.encoder.has_heap_totals() {
                        let totals = self
                            .reader
                            .count_heap_dump(offset, self.encoder.heap_layout())?;
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
        Ok(self.reader.check_end()?)
    }

    /// Returns the facts about the run, which stand before all other records but CONTROL SETTINGS, and goes back to the
    /// first record.
    fn facts(&mut self) -> Result<Vec<(String, String)>, Stop> {
        let first = self.reader.position();
        // A fault is reported when the records are printed.
        let facts = facts::read(&mut self.reader);
        self.reader.seek(first)?;
        Ok(facts)
    }

    /// Prints the records of a heap dump, or of a segment of one.
    fn heap(&mut self) -> Result<(), Stop> {
        let id_size = self.reader.header().id_size;
        while let Some(entry) = self.reader.read_heap()? {
            self.text.reached(entry.offset);
            self.encoder
                .heap_item(id_size, &entry.item, &mut self.text)?;
        }
        Ok(())
    }
}
