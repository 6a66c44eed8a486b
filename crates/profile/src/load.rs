//! From a file to a profile.

use std::cell::Cell;
use std::io::{self, Read};

use hprof_format::{Item, ReadError, Reader, TextError, TextItem, TextReader, is_text};

use crate::jfr;
use crate::model::{HeapDumpForm, Profile, Table};
use crate::records::{Records, Wanted};

/// The number of bytes of a file that identify its format.
const TELLING: usize = 32;
/// Frames that the stacks of all samples have together, where a stack counts for each of its samples: for each byte of the
/// file, and in any. What is made of a profile takes as much time and memory. Real files have less than one for each byte, as a
/// frame of a stack takes eight and few samples share a stack.
const FRAMES_PER_BYTE: u64 = 2;
const FRAMES: u64 = 16 << 20;

/// A profile, and the reason its file could not be read to the end.
#[derive(Debug)]
pub struct Loaded {
    /// The part that was read.
    pub profile: Profile,
    /// The reason there is no more.
    pub fault: Option<LoadError>,
}

/// The reason a file yields no profile, or only a part.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An error of the binary format.
    #[error(transparent)]
    Binary(#[from] ReadError),
    /// An error of the text format.
    #[error(transparent)]
    Text(#[from] TextError),
    /// An error of a recording of the JDK Flight Recorder.
    #[error(transparent)]
    Recording(#[from] hprof_jfr::ReadError),
    /// The source failed at its start.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file names large stacks again and again.
    #[error(
        "the stacks of its samples have {frames} frames, repeated ones included; a file of {bytes} bytes may \
         have {most}"
    )]
    Repetitive {
        /// How many.
        frames: u64,
        /// The length of the file.
        bytes: u64,
        /// How many are allowed.
        most: u64,
    },
    /// The file has no such section.
    #[error("there is no section {wanted}; the file has {sections}")]
    NoSection {
        /// The requested section.
        wanted: u32,
        /// The number of sections.
        sections: u32,
    },
}

/// Reads a profile.
///
/// # Errors
/// [`LoadError`], if nothing can be read. A file that is truncated or damaged later yields the part before that, with a
/// fault.
pub fn load(mut source: impl Read, wanted: Wanted) -> Result<Loaded, LoadError> {
    let mut start = Vec::with_capacity(TELLING);
    source
        .by_ref()
        .take(TELLING as u64)
        .read_to_end(&mut start)?;
    let text = is_text(&start);
    let is_recording = start.starts_with(&hprof_jfr::MAGIC);
    let bytes = Cell::new(0);
    let source = CountedSource {
        source: start.as_slice().chain(source),
        bytes: &bytes,
    };
    if is_recording {
        let (profile, fault) = jfr::load(source)?;
        return finish(profile, wanted, fault.map(LoadError::from), bytes.get());
    }
    let mut records = Records::new(wanted);
    let fault = if text {
        let mut reader = TextReader::new(source)?;
        records.created(reader.time().0);
        if let Some(process) = reader.process() {
            records.process(process);
        }
        for (label, value) in reader.facts() {
            records.fact(label, value);
        }
        if let Some(depth) = reader.depth() {
            records.depth(depth);
        }
        self::text(&mut reader, &mut records).err()
    } else {
        let mut reader = Reader::new(source)?;
        records.created(reader.header().time.0);
        binary(&mut reader, &mut records).err()
    };
    finish(records.finish(), wanted, fault, bytes.get())
}

/// A source of which so many bytes have been read.
struct CountedSource<'a, R> {
    source: R,
    bytes: &'a Cell<u64>,
}

impl<R: Read> Read for CountedSource<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        Ok(count)
    }
}

fn binary(reader: &mut Reader<impl Read>, records: &mut Records) -> Result<(), LoadError> {
    while let Some(entry) = reader.read()? {
        records.reached(entry.time.0);
        match &entry.item {
            Item::Record(record) => records.record(record),
            Item::HeapDump { .. } => records.heap_dump(HeapDumpForm::Binary),
            Item::HeapDumpEnd => {}
        }
    }
    Ok(())
}

fn text(reader: &mut TextReader<impl Read>, records: &mut Records) -> Result<(), LoadError> {
    while let Some(entry) = reader.read()? {
        records.reached(entry.time.0);
        match &entry.item {
            TextItem::Record(record) => records.record(record),
            TextItem::Monitor(record) => records.monitor(record),
            TextItem::Timing(timing) => records.timing(timing),
            TextItem::HeapDump { .. } => records.heap_dump(HeapDumpForm::Text),
        }
    }
    Ok(())
}

fn finish(
    mut profile: Profile,
    wanted: Wanted,
    fault: Option<LoadError>,
    bytes: u64,
) -> Result<Loaded, LoadError> {
    profile.split_waits();
    let rows = profile.tables().iter().flat_map(Table::rows);
    let frames = rows.map(|(stack, ..)| profile.stacks.frames(stack).len() as u64);
    let frames = frames.sum();
    let most = FRAMES + FRAMES_PER_BYTE.saturating_mul(bytes);
    if frames > most {
        return Err(LoadError::Repetitive {
            frames,
            bytes,
            most,
        });
    }
    match wanted {
        Wanted::Number(number) if number == 0 || number > profile.sections => {
            Err(fault.unwrap_or(LoadError::NoSection {
                wanted: number,
                sections: profile.sections,
            }))
        }
        _ => Ok(Loaded { profile, fault }),
    }
}
