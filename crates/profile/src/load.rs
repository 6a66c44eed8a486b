//! From a file to a profile.

use std::io::{self, Read};

use hprof_format::{Item, ReadError, Reader, TextError, TextItem, TextReader, is_text};

use crate::{Profile, Records};

/// Bytes of a file that tell its format.
const TELLING: usize = 32;

/// Which dump of a run is wanted: each request (SIGQUIT, `hprof dump`) and the end of the run write one. Of each kind of
/// values a dump has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The last one.
    #[default]
    Last,
    /// This one, from 1 on.
    Number(u32),
}

/// A profile, and what kept its file from being read to the end.
#[derive(Debug)]
pub struct Loaded {
    /// What was read.
    pub profile: Profile,
    /// Why no more.
    pub fault: Option<LoadError>,
}

/// Why a file gives no profile, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Of the binary format.
    #[error(transparent)]
    Binary(#[from] ReadError),
    /// Of the text format.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The source failed at its start.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has no such section.
    #[error("there is no section {wanted}; the file has {sections}")]
    NoSection {
        /// What was asked for.
        wanted: u32,
        /// How many there are.
        sections: u32,
    },
}

/// Reads a profile.
///
/// # Errors
/// [`LoadError`], where nothing can be had. What is cut off or damaged later gives what stands before that, with a fault.
pub fn load(mut source: impl Read, wanted: Wanted) -> Result<Loaded, LoadError> {
    let mut start = Vec::with_capacity(TELLING);
    source
        .by_ref()
        .take(TELLING as u64)
        .read_to_end(&mut start)?;
    let text = is_text(&start);
    let source = start.as_slice().chain(source);
    let mut records = Records::new(wanted);
    let fault = if text {
        let mut reader = TextReader::new(source)?;
        records.created(reader.time().0);
        if let Some(process) = reader.process() {
            records.process(process);
        }
        self::text(&mut reader, &mut records).err()
    } else {
        let mut reader = Reader::new(source)?;
        records.created(reader.header().time.0);
        binary(&mut reader, &mut records).err()
    };
    finish(records, wanted, fault)
}

fn binary(reader: &mut Reader<impl Read>, records: &mut Records) -> Result<(), LoadError> {
    while let Some(entry) = reader.read()? {
        records.reached(entry.time.0);
        if let Item::Record(record) = &entry.item {
            records.record(record);
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
            TextItem::HeapDump { .. } => {}
        }
    }
    Ok(())
}

fn finish(records: Records, wanted: Wanted, fault: Option<LoadError>) -> Result<Loaded, LoadError> {
    let profile = records.finish();
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
