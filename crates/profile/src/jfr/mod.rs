//! Recordings of the JDK Flight Recorder: the events that hold a profile, and how they are read.

mod about;
mod fields;
mod kinds;
mod own;
mod places;
mod sums;
mod times;

use std::io::Read;

use hprof_jfr::{Chunk, Chunks, ReadError};

use crate::model::Profile;
use about::About;
use places::{Known, Places};
use sums::Sums;

pub(crate) use own::{OWN, OwnEvent, SAMPLED_TIME, field_name};

/// The class of frames that are no methods, such as `<not listed>`: a frame of a recording has a class.
pub(crate) const MARKER_CLASS: &str = "hprof";

/// Reads a recording; returns the profile and the reason there is no more.
///
/// # Errors
/// [`ReadError`], if not even the first chunk can be read.
pub(crate) fn load(source: impl Read) -> Result<(Profile, Option<ReadError>), ReadError> {
    let mut reading = Reading::default();
    let mut chunks = Chunks::new(source);
    let (mut whole, mut damaged, mut first) = (0_u64, 0_u64, None);
    loop {
        let read = match chunks.read() {
            Ok(Some(chunk)) => reading.chunk(&chunk),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        match read {
            Ok(()) => whole += 1,
            Err(error) => {
                damaged += 1;
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if whole == 0 && reading.is_empty() => Err(error),
        fault => {
            let profile = reading.finish(damaged_note(whole, damaged));
            Ok((profile, fault))
        }
    }
}

/// Returns a remark on the damaged chunks of a recording, if others are whole.
fn damaged_note(whole: u64, damaged: u64) -> Option<String> {
    (whole > 0 && damaged > 0).then(|| {
        format!(
            "{damaged} of {} chunks of the recording are damaged; what cannot be read of them is missing, and the others are in",
            whole + damaged
        )
    })
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

    fn is_empty(&self) -> bool {
        self.about.is_empty()
    }

    fn finish(self, damaged: Option<String>) -> Profile {
        let mut profile = self.known.profile;
        self.about.tell(&mut profile);
        for remark in damaged.into_iter().chain(self.sums.not_read()) {
            profile.remark(remark);
        }
        self.sums.tell(&self.about, &mut profile);
        profile.mark_cut_stacks(self.known.cut);
        profile
    }
}
