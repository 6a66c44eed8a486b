//! Profiles in the formats of other tools. Each function writes one file.

mod collapsed;
mod firefox;
mod jfr;
mod json;
mod otlp;
mod pprof;
mod speedscope;

pub use collapsed::{Folding, collapsed, folded};
pub use firefox::{firefox, firefox_divisor};
pub use jfr::{jfr, jfr_divisor};
pub use json::json;
pub use otlp::{ExportRequest, LimitTooSmall, Origin, Requests, explanation, otlp, rejected};
pub use pprof::pprof;
pub use speedscope::speedscope;

use crate::model::{Frame, FrameKind, Profile};

/// Returns the frames' names for tools without fields for class and signature: `Class.method`.
fn method_names(profile: &Profile) -> Vec<String> {
    let frames = profile.frame_ids();
    frames.map(|frame| profile.method(frame)).collect()
}

/// Returns the source file of a frame; empty if unknown.
fn source<'a>(profile: &'a Profile, frame: &Frame) -> &'a str {
    frame.source.map_or("", |source| profile.names.text(source))
}

/// Stands for all threads if the file does not distinguish them.
const ANY_THREAD: &str = "any thread";

fn is_native(frame: &Frame) -> bool {
    frame.kind == FrameKind::Native
}
