//! A buffer for the frames of a stack, as large as the stacks seen so far require.

use jvmti::FrameInfo;
use memory::{List, OrStop};

/// The initial number of frames. A stack that fills it is read again with more room.
const FIRST: usize = 64;
/// The factor by which the buffer grows.
const GROWTH: usize = 4;

/// The frames of one stack at a time. `depth=65535` would need a megabyte per thread, which few stacks ever fill.
#[derive(Default)]
pub struct StackBuffer {
    room: List<FrameInfo>,
    count: usize,
}

impl StackBuffer {
    /// Calls `look` to fill in the frames of a stack, innermost first and at most `depth`, and to return their number.
    /// It is called again with more room if they may not have fitted.
    #[inline]
    pub fn take(&mut self, depth: usize, mut look: impl FnMut(&mut [FrameInfo]) -> usize) {
        loop {
            let room = depth.min(self.room.len().max(FIRST));
            if self.room.len() < room {
                self.room.resize(room, FrameInfo::default()).or_stop();
            }
            self.count = look(&mut self.room[..room]);
            if self.count < room || room == depth {
                return;
            }
            let more = depth.min(room * GROWTH);
            self.room.resize(more, FrameInfo::default()).or_stop();
        }
    }

    /// Returns the frames of the last [`StackBuffer::take`].
    #[inline]
    pub fn frames(&self) -> &[FrameInfo] {
        &self.room[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a `look` that sees a stack of `stack` frames.
    fn look(stack: usize) -> impl FnMut(&mut [FrameInfo]) -> usize {
        move |frames| {
            let count = stack.min(frames.len());
            for (frame, place) in frames[..count].iter_mut().zip(0..) {
                frame.location = place;
            }
            count
        }
    }

    fn seen(buffer: &StackBuffer) -> Vec<i64> {
        buffer.frames().iter().map(|frame| frame.location).collect()
    }

    #[test]
    fn the_room_grows_with_the_stacks_and_not_with_the_depth() {
        let mut buffer = StackBuffer::default();
        buffer.take(65_535, look(10));
        assert_eq!(seen(&buffer), (0..10).collect::<Vec<i64>>());
        assert_eq!(buffer.room.len(), FIRST);
        buffer.take(65_535, look(1_000));
        assert_eq!(seen(&buffer), (0..1_000).collect::<Vec<i64>>());
        assert!(buffer.room.len() <= 4_096, "{}", buffer.room.len());
    }

    #[test]
    fn a_stack_is_cut_at_the_depth() {
        let mut buffer = StackBuffer::default();
        for (depth, stack) in [(0, 9), (4, 9), (4, 3), (64, 64), (65, 70), (100, 1_000)] {
            buffer.take(depth, look(stack));
            assert_eq!(buffer.frames().len(), depth.min(stack), "{depth} {stack}");
        }
    }
}
