//! Traces: frames from the innermost to the outermost.
//!
//! Deep stacks have most of their frames in common, but if they are cut at some depth, the common frames are at a different
//! distance from the outer end of each. So a trace is a sequence of chunks whose ends depend only on the frames: two traces
//! that share a run of frames share nearly all of its chunks, wherever the run is. The sequence is stored in pieces, each
//! with the id of the trace outside of it.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::Equivalent;

use super::chunk::{Chunk, ChunkId};
use super::frame::FrameId;
use super::intern::{Interner, table_ids};
use super::thread::ThreadSerial;
use crate::memory;

table_ids! {
    /// The id of a trace.
    TraceId
}

impl TraceId {
    /// The trace without frames, of the system rather than of the program.
    pub const EMPTY: Self = Self(0);
}

/// A trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    /// The thread, if traces are kept apart by thread (`thread=y`).
    pub thread: Option<ThreadSerial>,
    /// The frames, innermost first.
    pub frames: Vec<FrameId>,
}

/// The values that identify a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceKey<'a> {
    /// See [`Trace::thread`].
    pub thread: Option<ThreadSerial>,
    /// See [`Trace::frames`].
    pub frames: &'a [FrameId],
}

/// The most chunks in a piece.
const PIECE: usize = 8;

/// The innermost chunks of a trace, after the trace of the outer ones, whose number is a multiple of [`PIECE`]: traces that
/// differ only at their inner ends share the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Piece {
    outer: Outer,
    /// Outermost first; the elements beyond `count` are padding.
    chunks: [ChunkId; PIECE],
    count: u8,
}

impl Piece {
    fn behind(outer: Outer) -> Self {
        Self {
            outer,
            chunks: [ChunkId(0); PIECE],
            count: 0,
        }
    }

    fn push(&mut self, chunk: ChunkId) {
        self.chunks[usize::from(self.count)] = chunk;
        self.count += 1;
    }

    fn is_full(&self) -> bool {
        usize::from(self.count) == PIECE
    }

    fn chunks(&self) -> &[ChunkId] {
        &self.chunks[..usize::from(self.count)]
    }
}

/// The part of a trace outside of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Outer {
    Nothing,
    /// The thread, for the first piece if traces are kept apart by thread.
    Thread(ThreadSerial),
    Trace(TraceId),
}

struct Node {
    piece: Piece,
    /// `true` if the trace that ends here was itself requested, and not only longer ones.
    is_asked_for: AtomicBool,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.piece == other.piece
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.piece.hash(state);
    }
}

impl Equivalent<Node> for Piece {
    fn equivalent(&self, node: &Node) -> bool {
        *self == node.piece
    }
}

/// The chunks of a stack that changes at its inner end. Its traces are requested again and again, each from some frame
/// inwards.
#[derive(Default)]
pub struct StackChunks {
    thread: Option<ThreadSerial>,
    /// The complete chunks of the whole stack, each with the index of the frame after it.
    complete: Vec<(usize, ChunkId)>,
    cut: Option<Cut>,
}

/// The outer end of a trace within a stack.
struct Cut {
    /// Its outermost frame.
    from: usize,
    /// The chunks of the trace outside of the first that it shares with the whole stack.
    first: Vec<ChunkId>,
    first_end: usize,
    /// The index of the stack's chunk after these; `None` if the trace shares none with the stack.
    common: Option<usize>,
    /// The traces that end with the first full piece, the second, and so on.
    pieces: Vec<TraceId>,
}

impl StackChunks {
    /// Keeps the outermost `frames` frames and forgets the rest.
    pub fn keep(&mut self, frames: usize) {
        let complete = self.complete.partition_point(|&(end, _)| end <= frames);
        self.complete.truncate(complete);
        self.cut = self.cut.take().and_then(|mut cut| {
            let chunks = cut.first.len() + complete.checked_sub(cut.common?)?;
            cut.pieces.truncate(chunks / PIECE);
            Some(cut)
        });
    }

    /// Returns the index of the frame after the last complete chunk.
    fn end(&self) -> usize {
        self.complete.last().map_or(0, |&(end, _)| end)
    }
}

/// The trace table.
pub struct Traces {
    chunks: Interner<Chunk>,
    nodes: Interner<Node>,
}

impl Default for Traces {
    fn default() -> Self {
        let traces = Self {
            chunks: Interner::default(),
            nodes: Interner::default(),
        };
        let empty = traces.intern(TraceKey {
            thread: None,
            frames: &[],
        });
        debug_assert_eq!(
            empty,
            TraceId::EMPTY,
            "the first trace has the first number"
        );
        traces
    }
}

impl Traces {
    /// Returns the id of a trace, adding it if it is new.
    pub fn intern(&self, key: TraceKey<'_>) -> TraceId {
        let frames: Vec<FrameId> = key.frames.iter().rev().copied().collect();
        self.intern_from(&mut StackChunks::default(), key.thread, &frames, 0)
    }

    /// Returns the number of traces, including pieces of longer ones.
    pub fn count(&self) -> usize {
        self.nodes.count()
    }

    /// Returns the id of the trace of a stack's frames from index `from` on. `frames` is the whole stack, outermost first.
    /// `stack` belongs to the previously requested stack, cut to the part that this one has in common with it.
    pub fn intern_from(
        &self,
        stack: &mut StackChunks,
        thread: Option<ThreadSerial>,
        frames: &[FrameId],
        from: usize,
    ) -> TraceId {
        if stack.thread != thread {
            stack.thread = thread;
            stack.cut = None;
        }
        self.complete(stack, frames);
        let mut cut = match stack.cut.take() {
            Some(cut) if cut.from == from => cut,
            _ => self.cut(stack, frames, from),
        };
        let end = match cut.common {
            Some(_) => stack.end(),
            None => cut.first_end,
        };
        let trace = self.chain(&mut cut, stack, &frames[end..]);
        // If nothing is in common, the chunks may be different ones when the stack has more frames.
        stack.cut = Some(cut).filter(|cut| cut.common.is_some());
        self.node(trace).is_asked_for.store(true, Ordering::Relaxed);
        trace
    }

    /// Adds the complete chunks that are not known yet.
    fn complete(&self, stack: &mut StackChunks, frames: &[FrameId]) {
        let mut start = stack.end();
        while let Some(length) = Chunk::complete(&frames[start..]) {
            let chunk = self.chunk(&frames[start..start + length]);
            start += length;
            memory::need_to_grow(
                stack.complete.len(),
                stack.complete.capacity(),
                size_of::<(usize, ChunkId)>(),
            );
            stack.complete.push((start, chunk));
        }
    }

    /// Finds the chunks of a trace whose outermost frame is some frame of a stack.
    fn cut(&self, stack: &StackChunks, frames: &[FrameId], from: usize) -> Cut {
        let mut cut = Cut {
            from,
            first: Vec::new(),
            first_end: from,
            common: None,
            pieces: Vec::new(),
        };
        loop {
            let start = cut.first_end;
            let before = stack.complete.partition_point(|&(end, _)| end <= start);
            let last = before.checked_sub(1).map(|last| stack.complete[last]);
            if start == last.map_or(0, |(end, _)| end) {
                cut.common = Some(before);
                return cut;
            }
            let Some(length) = Chunk::complete(&frames[start..]) else {
                return cut;
            };
            cut.first.push(self.chunk(&frames[start..start + length]));
            cut.first_end += length;
        }
    }

    /// Returns the trace of the frames from a cut on; `tail` is its incomplete innermost chunk.
    fn chain(&self, cut: &mut Cut, stack: &StackChunks, tail: &[FrameId]) -> TraceId {
        let mut piece = Piece::behind(match (cut.pieces.last(), stack.thread) {
            (Some(&trace), _) => Outer::Trace(trace),
            (None, Some(thread)) => Outer::Thread(thread),
            (None, None) => Outer::Nothing,
        });
        let common = cut.common.unwrap_or(stack.complete.len());
        let common = stack.complete[common..].iter();
        let chunks = cut.first.iter().chain(common.map(|(_, chunk)| chunk));
        for &chunk in chunks.skip(cut.pieces.len() * PIECE) {
            piece.push(chunk);
            if piece.is_full() {
                let trace = self.piece(piece);
                cut.pieces.push(trace);
                piece = Piece::behind(Outer::Trace(trace));
            }
        }
        if !tail.is_empty() {
            piece.push(self.chunk(tail));
        }
        match piece.outer {
            Outer::Trace(trace) if piece.count == 0 => trace,
            _ => self.piece(piece),
        }
    }

    fn chunk(&self, frames: &[FrameId]) -> ChunkId {
        let chunk = Chunk::new(frames);
        ChunkId(self.chunks.intern(&chunk, || chunk))
    }

    fn piece(&self, piece: Piece) -> TraceId {
        let make = || Node {
            piece,
            is_asked_for: AtomicBool::new(false),
        };
        TraceId(self.nodes.intern(&piece, make))
    }

    fn node(&self, id: TraceId) -> &Node {
        self.nodes.get(id.0)
    }

    /// Returns the trace with this id.
    pub fn get(&self, id: TraceId) -> Trace {
        let mut frames = Vec::new();
        let mut next = id;
        loop {
            let piece = &self.node(next).piece;
            for chunk in piece.chunks().iter().rev() {
                frames.extend(self.chunks.get(chunk.0).frames().iter().rev());
            }
            let thread = match piece.outer {
                Outer::Trace(outer) => {
                    next = outer;
                    continue;
                }
                Outer::Thread(thread) => Some(thread),
                Outer::Nothing => None,
            };
            return Trace { thread, frames };
        }
    }

    /// Iterates over all traces that were requested.
    pub fn iter(&self) -> impl Iterator<Item = TraceId> {
        let asked_for = |&(_, node): &(u32, &Node)| node.is_asked_for.load(Ordering::Relaxed);
        self.nodes
            .iter()
            .filter(asked_for)
            .map(|(index, _)| TraceId(index))
    }

    /// Iterates over all ids, of traces and of pieces of them.
    pub fn ids(&self) -> impl Iterator<Item = TraceId> {
        self.nodes.iter().map(|(index, _)| TraceId(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_traces_apart_only_where_asked() {
        let traces = Traces::default();
        let frames = [FrameId(3), FrameId(9)];
        let shared = traces.intern(TraceKey {
            thread: None,
            frames: &frames,
        });
        let one = traces.intern(TraceKey {
            thread: Some(ThreadSerial(200_001)),
            frames: &frames,
        });
        let two = traces.intern(TraceKey {
            thread: Some(ThreadSerial(200_002)),
            frames: &frames,
        });
        assert!(shared != one && one != two && shared != two);
        assert_eq!(
            traces.intern(TraceKey {
                thread: None,
                frames: &frames
            }),
            shared
        );
        assert_eq!(
            traces.intern(TraceKey {
                thread: None,
                frames: &[]
            }),
            TraceId::EMPTY
        );
    }

    #[test]
    fn long_traces_are_what_they_were() {
        let traces = Traces::default();
        let mut ids = Vec::new();
        for count in 0..40 {
            let frames: Vec<FrameId> = (0..count).rev().map(FrameId).collect();
            for thread in [None, Some(ThreadSerial(7))] {
                let key = TraceKey {
                    thread,
                    frames: &frames,
                };
                let id = traces.intern(key);
                assert_eq!(traces.intern(key), id);
                let frames = frames.clone();
                assert_eq!(traces.get(id), Trace { thread, frames });
                ids.push(id);
            }
        }
        let mut asked_for: Vec<TraceId> = traces.iter().collect();
        ids.sort_unstable();
        asked_for.sort_unstable();
        assert_eq!(asked_for, ids, "each its own, and no other");
    }

    /// Numbers that look random.
    fn random(seed: u64) -> impl FnMut(u32) -> u32 {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32 % below
        }
    }

    fn trace_of(traces: &Traces, frames: &[FrameId]) -> TraceId {
        let frames: Vec<FrameId> = frames.iter().rev().copied().collect();
        let thread = None;
        let id = traces.intern(TraceKey {
            thread,
            frames: &frames,
        });
        assert_eq!(traces.get(id), Trace { thread, frames });
        id
    }

    #[test]
    fn a_trace_is_the_same_whatever_is_known_of_its_stack() {
        // Stacks of a few methods that call themselves have no end of a chunk, or the same ones again and again.
        for (methods, seed) in [(1, 1), (2, 2), (3, 3), (9, 4), (1_000, 5)] {
            let traces = Traces::default();
            let mut random = random(seed);
            let mut stack = StackChunks::default();
            let mut frames: Vec<FrameId> = Vec::new();
            let mut deepest = 0;
            for round in 0..400 {
                let keep = frames.len().saturating_sub(random(40) as usize);
                frames.truncate(keep);
                stack.keep(keep);
                frames.extend((0..random(44)).map(|_| FrameId(random(methods))));
                deepest = deepest.max(frames.len());
                let depth = [8, 128, 1_000][round % 3];
                let from = frames.len().saturating_sub(depth);
                let known = traces.intern_from(&mut stack, None, &frames, from);
                assert_eq!(
                    known,
                    trace_of(&traces, &frames[from..]),
                    "{methods} {round}"
                );
            }
            assert!(deepest > 200, "{deepest}");
        }
    }

    #[test]
    fn stacks_of_another_height_have_their_chunks_in_common() {
        let traces = Traces::default();
        let mut random = random(6);
        let frames: Vec<FrameId> = (0..2_000).map(|_| FrameId(random(100))).collect();
        let mut stack = StackChunks::default();
        for from in 0..frames.len() - 128 {
            traces.intern_from(&mut stack, None, &frames[..from + 128], from);
            stack.keep(from + 128);
        }
        // A trace has an outermost chunk and an innermost one of its own, and its chunks are two to three pieces.
        let chunks = traces.chunks.count();
        assert!(chunks < 3 * frames.len(), "{chunks}");
        let pieces = traces.nodes.count();
        assert!(pieces < 4 * frames.len(), "{pieces}");
    }

    #[test]
    fn threads_keep_traces_of_known_stacks_apart() {
        let traces = Traces::default();
        let frames: Vec<FrameId> = (0..100).map(FrameId).collect();
        let mut stack = StackChunks::default();
        let mut of = |thread| traces.intern_from(&mut stack, thread, &frames, 0);
        let (one, shared, two) = (
            of(Some(ThreadSerial(1))),
            of(None),
            of(Some(ThreadSerial(2))),
        );
        assert_eq!(traces.get(one).thread, Some(ThreadSerial(1)));
        assert_eq!(traces.get(two).thread, Some(ThreadSerial(2)));
        assert_eq!(shared, trace_of(&traces, &frames));
    }
}
