//! Chunks of traces: runs of frames whose ends depend only on the frames.

use std::hash::{Hash, Hasher};

use super::frame::FrameId;

/// The most frames in a chunk.
const CHUNK: usize = 16;

/// The id of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ChunkId(pub(super) u32);

/// Consecutive frames, outermost first. A complete chunk ends with the first frame that ends chunks, or has the maximum
/// length; only the innermost chunk of a trace may be incomplete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The elements beyond `count` are padding.
    frames: [FrameId; CHUNK],
    count: u8,
}

impl Chunk {
    pub(super) fn new(frames: &[FrameId]) -> Self {
        let mut chunk = Self {
            frames: [FrameId(0); CHUNK],
            count: frames.len() as u8,
        };
        chunk.frames[..frames.len()].copy_from_slice(frames);
        chunk
    }

    /// Returns the length of the complete chunk at the start of these frames; `None` if they end before it does.
    pub(super) fn complete(frames: &[FrameId]) -> Option<usize> {
        let mut first = frames.iter().take(CHUNK);
        let last = first.position(|&frame| Self::ends_with(frame));
        last.map(|last| last + 1)
            .or((frames.len() >= CHUNK).then_some(CHUNK))
    }

    /// Returns `true` if a frame ends the chunk it is in, as one in eight does.
    fn ends_with(frame: FrameId) -> bool {
        frame.0.wrapping_mul(0x9e37_79b1) >> 29 == 0
    }

    pub(super) fn frames(&self) -> &[FrameId] {
        &self.frames[..usize::from(self.count)]
    }
}

impl Hash for Chunk {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.frames().hash(state);
    }
}
