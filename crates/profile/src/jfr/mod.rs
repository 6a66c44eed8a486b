//! Recordings of the JDK Flight Recorder: the events that hold a profile, and how they are read.

mod about;
mod kinds;
mod own;
mod places;
mod sums;

use std::io::Read;

use hprof_jfr::{Chunk, Chunks, ReadError};

use crate::model::Profile;
use about::About;
use places::{Known, Places};
use sums::Sums;

pub(crate) use own::{OwnEvent, field_name};

/// The class of frames that are no methods, such as `<not listed>`: a frame of a recording has a class.
pub(crate) const MARKER_CLASS: &str = "hprof";

/// Reads a recording; returns the profile and the reason there is no more.
///
/// # Errors
/// [`ReadError`], if not even the first chunk can be read.
pub(crate) fn load(source: impl Read) -> Result<(Profile, Option<ReadError>), ReadError> {
    let mut reading = Reading::default();
    let mut chunks = Chunks::new(source);
    let mut has_any = false;
    let fault = loop {
        match chunks.read() {
            Ok(Some(chunk)) => {
                has_any = true;
                if let Err(error) = reading.chunk(&chunk) {
                    break Some(error);
                }
            }
            Ok(None) => break None,
            Err(error) if has_any => break Some(error),
            Err(error) => return Err(error),
        }
    };
    Ok((reading.finish(), fault))
}

/// The samples and facts read so far.
#[derive(Default)]
struct Reading {
    known: Known,
    sums: Sums,
    about: About,
}

impl Reading {
    fn chunk(&mut self, chunk: &Chunk) -> Result<(), ReadError> {
        self.about.reached(chunk.header());
        let mut places = Places::new(chunk, &mut self.known);
        for event in chunk.events() {
            let event = event?;
            if !self.about.event(&event)? {
                self.sums.event(&event, chunk, &mut places)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Profile {
        let mut profile = self.known.profile;
        self.about.tell(&mut profile);
        self.sums.tell(&self.about, &mut profile);
        profile.tell_cut(self.known.cut);
        profile
    }
}
