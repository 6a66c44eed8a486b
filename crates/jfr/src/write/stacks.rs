//! Stack traces.

use super::labels::LabelId;
use super::methods::MethodId;
use super::pool::{Pool, key};
use crate::encoding::encode;

/// Names a stack trace of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(pub(super) u64);

/// A frame of a stack trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The method.
    pub method: MethodId,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// The way it ran, of [`crate::Recording::frame_types`].
    pub frame_type: LabelId,
}

/// All stack traces, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Stacks {
    rows: Vec<u8>,
    count: usize,
}

/// Stands for a line or a place in the code that is not known: `getLineNumber` and `getBytecodeIndex` of
/// `jdk.jfr.consumer.RecordedFrame`.
const UNKNOWN: i32 = -1;

impl Stacks {
    /// Adds a stack trace, innermost frame first. `truncated` says that there were more frames.
    pub fn push(&mut self, frames: &[Frame], truncated: bool) -> StackId {
        let id = key(self.count);
        self.count += 1;
        let out = &mut self.rows;
        encode::long(out, id);
        out.push(truncated.into());
        encode::long(out, frames.len() as u64);
        for frame in frames {
            encode::long(out, frame.method.0);
            let line = frame.line.and_then(|line| i32::try_from(line).ok());
            encode::int(out, line.unwrap_or(UNKNOWN));
            encode::int(out, UNKNOWN);
            encode::long(out, frame.frame_type.0);
        }
        StackId(id)
    }
}

impl Pool for Stacks {
    fn len(&self) -> usize {
        self.count
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(&self.rows);
    }
}
