//! From a file to a profile.

use std::io::Read;

use hprof_format::{Item, ReadError, Reader};

use crate::{Profile, Records};

/// Which dump of a run is wanted: each request (SIGQUIT, `hprof dump`) and the end of the run write one.
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
pub fn load(source: impl Read, wanted: Wanted) -> Result<Loaded, LoadError> {
    let mut records = Records::new(wanted);
    let mut reader = Reader::new(source)?;
    records.created(reader.header().time.0);
    let fault = binary(&mut reader, &mut records).err();
    finish(records, wanted, fault)
}

fn binary(reader: &mut Reader<impl Read>, records: &mut Records) -> Result<(), LoadError> {
    while let Some(entry) = reader.read()? {
        if let Item::Record(record) = &entry.item {
            records.record(record);
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
