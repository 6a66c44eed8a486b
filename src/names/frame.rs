//! Frames: a method and a line.

use super::class::ClassId;
use super::intern::{Interner, table_ids};
use super::string::StringId;

table_ids! {
    /// A frame.
    FrameId
}

/// Where a frame stands in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// A line, 1 and up.
    Number(u32),
    /// Not known, or not asked for.
    Unknown,
    /// A native method has no lines.
    Native,
}

/// One method, as its frames name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Its class.
    pub class: ClassId,
    /// Its name.
    pub name: StringId,
    /// Its signature.
    pub signature: StringId,
    /// The file its class was compiled from.
    pub source_file: Option<StringId>,
}

/// One frame. Bytecode indexes of one line are one frame: otherwise a profile had several rows that look alike.
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
    /// The id of a frame.
    pub fn intern(&self, frame: Frame) -> FrameId {
        FrameId(self.0.intern(&frame, || frame))
    }

    /// The frame whose [`FrameId::index`] this is; `None` where there is no such frame.
    pub fn find(&self, index: u32) -> Option<FrameId> {
        self.0.contains(index).then_some(FrameId(index))
    }

    /// The frame.
    pub fn get(&self, id: FrameId) -> &Frame {
        self.0.get(id.0)
    }
}
