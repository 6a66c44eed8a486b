//! Frames: a method and a line each.

use super::class::ClassId;
use super::intern::{Interner, table_ids};
use super::string::StringId;

table_ids! {
    /// The id of a frame.
    FrameId
}

impl FrameId {
    /// Creates the id of a frame that no table has, for tests of what only compares ids.
    #[doc(hidden)]
    pub fn numbered(number: u32) -> Self {
        Self(number)
    }
}

/// The line of a frame in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// A line number, from 1.
    Number(u32),
    /// Unknown, or not requested.
    Unknown,
    /// A native method, which has no lines.
    Native,
}

/// A method, as its frames name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Its class.
    pub class: ClassId,
    /// Its name.
    pub name: StringId,
    /// Its signature.
    pub signature: StringId,
    /// The file that its class was compiled from.
    pub source_file: Option<StringId>,
}

/// A frame. Bytecode indexes on the same line are one frame: otherwise a profile would have several rows that look
/// alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method.
    pub method: Method,
    /// The line.
    pub line: Line,
}

/// The frame table.
#[derive(Default)]
pub struct Frames(Interner<Frame>);

impl Frames {
    /// Returns the id of a frame, adding it if it is new.
    pub fn intern(&self, frame: Frame) -> FrameId {
        FrameId(self.0.intern(&frame, || frame))
    }

    /// Returns the frame with this [`FrameId::index`]; `None` if there is no such frame.
    pub fn find(&self, index: u32) -> Option<FrameId> {
        self.0.contains(index).then_some(FrameId(index))
    }

    /// Returns the frame with this id.
    pub fn get(&self, id: FrameId) -> &Frame {
        self.0.get(id.0)
    }
}
