//! Traces: frames from the innermost to the outermost.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::Equivalent;
use memory::{List, OrStop};

use super::frame::FrameId;
use super::intern::{Interner, table_ids};
use super::thread::ThreadSerial;

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
    pub frames: List<FrameId>,
}

/// The values that identify a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceKey<'a> {
    /// See [`Trace::thread`].
    pub thread: Option<ThreadSerial>,
    /// See [`Trace::frames`].
    pub frames: &'a [FrameId],
}

/// The most frames in a piece.
const PIECE: usize = 8;

/// The innermost frames of a trace, after the trace of the outer ones, whose number is a multiple of [`PIECE`]: traces
/// that differ only at their inner ends share the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Piece {
    outer: Outer,
    /// Outermost first; the elements beyond `count` are padding.
    frames: [FrameId; PIECE],
    count: u8,
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

/// The outer part of a trace that is looked up again and again with different inner ends.
#[derive(Default)]
pub struct OuterPart {
    thread: Option<ThreadSerial>,
    /// The traces that end with the first full piece, the second, and so on.
    pieces: List<TraceId>,
}

impl OuterPart {
    /// Keeps the outermost `frames` frames and forgets the rest.
    pub fn keep(&mut self, frames: usize) {
        self.pieces.truncate(frames / PIECE);
    }
}

/// A frame's place in a trace, from which one can go outward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// The trace that ends with the frame's piece.
    piece: TraceId,
    /// The number of frames of the piece that are further in.
    passed: u8,
}

impl FramePlace {
    /// Returns a trace with the same outermost frames and thread.
    pub fn trace(self) -> TraceId {
        self.piece
    }
}

impl From<TraceId> for FramePlace {
    /// The innermost frame.
    fn from(piece: TraceId) -> Self {
        Self { piece, passed: 0 }
    }
}

/// The trace table.
pub struct Traces {
    nodes: Interner<Node>,
    /// `true` if a trace has a thread: otherwise nobody needs to look for it at the outer end of long ones.
    has_threads: AtomicBool,
}

impl Default for Traces {
    fn default() -> Self {
        let traces = Self {
            nodes: Interner::default(),
            has_threads: AtomicBool::new(false),
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
        let frames = List::collect(key.frames.iter().rev().copied()).or_stop();
        self.intern_onto(&mut OuterPart::default(), key.thread, &frames)
    }

    /// Returns the number of traces, including pieces of longer ones.
    pub fn count(&self) -> usize {
        self.nodes.count()
    }

    /// Makes room for this many more traces.
    pub fn reserve(&self, traces: usize) {
        self.nodes.reserve(traces);
    }

    /// Returns the id of a trace whose frames are given outermost first. `outer` belongs to the previously requested
    /// trace, cut to the part that this one has in common with it.
    pub fn intern_onto(
        &self,
        outer: &mut OuterPart,
        thread: Option<ThreadSerial>,
        frames: &[FrameId],
    ) -> TraceId {
        if outer.thread != thread {
            *outer = OuterPart {
                thread,
                pieces: List::new(),
            };
        }
        let mut before = match (outer.pieces.last(), thread) {
            (Some(&trace), _) => Outer::Trace(trace),
            (None, Some(thread)) => {
                self.has_threads.store(true, Ordering::Relaxed);
                Outer::Thread(thread)
            }
            (None, None) => Outer::Nothing,
        };
        let new = &frames[(outer.pieces.len() * PIECE).min(frames.len())..];
        let (full, rest) = new.as_chunks::<PIECE>();
        for piece in full {
            let trace = self.piece(before, piece);
            outer.pieces.push(trace).or_stop();
            before = Outer::Trace(trace);
        }
        let trace = match before {
            Outer::Trace(trace) if rest.is_empty() => trace,
            _ => self.piece(before, rest),
        };
        self.node(trace).is_asked_for.store(true, Ordering::Relaxed);
        trace
    }

    fn piece(&self, outer: Outer, frames: &[FrameId]) -> TraceId {
        #[expect(clippy::cast_possible_truncation, reason = "at most PIECE")]
        let count = frames.len() as u8;
        let mut piece = Piece {
            outer,
            frames: [FrameId(0); PIECE],
            count,
        };
        piece.frames[..frames.len()].copy_from_slice(frames);
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
        let mut frames = List::new();
        let mut next = id;
        loop {
            let piece = &self.node(next).piece;
            for &frame in piece.frames[..usize::from(piece.count)].iter().rev() {
                frames.push(frame).or_stop();
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

    /// Returns the thread of the trace with this id; see [`Trace::thread`].
    pub fn thread(&self, id: TraceId) -> Option<ThreadSerial> {
        if !self.has_threads.load(Ordering::Relaxed) {
            return None;
        }
        let mut next = id;
        loop {
            next = match self.node(next).piece.outer {
                Outer::Trace(outer) => outer,
                Outer::Thread(thread) => return Some(thread),
                Outer::Nothing => return None,
            };
        }
    }

    /// Returns one frame of the trace with this id, counted from the innermost; `None` if it has fewer.
    pub fn frame(&self, id: TraceId, mut place: usize) -> Option<FrameId> {
        let mut next = id;
        loop {
            let piece = &self.node(next).piece;
            let count = usize::from(piece.count);
            if place < count {
                return Some(piece.frames[count - 1 - place]);
            }
            place -= count;
            match piece.outer {
                Outer::Trace(outer) => next = outer,
                Outer::Thread(_) | Outer::Nothing => return None,
            }
        }
    }

    /// Returns the frame at a place, and the place of its caller; `None` if there are no more frames.
    pub fn frame_at(&self, place: FramePlace) -> Option<(FrameId, FramePlace)> {
        let piece = &self.node(place.piece).piece;
        let left = usize::from(piece.count).checked_sub(usize::from(place.passed) + 1)?;
        let further = FramePlace {
            passed: place.passed + 1,
            ..place
        };
        let outer = match piece.outer {
            Outer::Trace(outer) if left == 0 => outer.into(),
            _ => further,
        };
        Some((piece.frames[left], outer))
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
                for place in 0..=frames.len() {
                    assert_eq!(traces.frame(id, place), frames.get(place).copied());
                }
                assert_eq!(traces.thread(id), thread);
                let mut place = FramePlace::from(id);
                let outward = std::iter::from_fn(|| {
                    let (frame, caller) = traces.frame_at(place)?;
                    place = caller;
                    Some(frame)
                });
                assert!(outward.eq(frames.iter().copied()));
                let frames = frames.clone();
                assert_eq!(
                    traces.get(id),
                    Trace {
                        thread,
                        frames: List::collect(frames).expect("small")
                    }
                );
                ids.push(id);
            }
        }
        let mut asked_for: Vec<TraceId> = traces.iter().collect();
        ids.sort_unstable();
        asked_for.sort_unstable();
        assert_eq!(asked_for, ids, "each its own, and no other");
    }

    #[test]
    fn a_trace_that_shares_its_outer_part_is_the_same_as_one_that_does_not() {
        let traces = Traces::default();
        let mut outer = OuterPart::default();
        let mut frames: Vec<FrameId> = Vec::new();
        for (keep, add) in [(0, 100), (99, 1), (64, 3), (63, 30), (3, 5), (8, 0), (0, 2)] {
            frames.truncate(keep);
            frames.extend((0..add).map(|frame| FrameId(frame * 7)));
            outer.keep(keep);
            let onto = traces.intern_onto(&mut outer, None, &frames);
            let innermost_first: Vec<FrameId> = frames.iter().rev().copied().collect();
            let anew = traces.intern(TraceKey {
                thread: None,
                frames: &innermost_first,
            });
            assert_eq!(onto, anew, "{keep} {add}");
        }
        let of_thread = traces.intern_onto(&mut outer, Some(ThreadSerial(1)), &frames);
        assert_eq!(traces.get(of_thread).thread, Some(ThreadSerial(1)));
    }
}
