//! Roots in the stacks of threads, and the frames of the threads' traces that hold them.
//!
//! A thread may run on between its trace and the walk. The outer frames of its stack stay; inside them it leaves some
//! and enters others. The walk counts frames from the innermost, and reports only those that hold references, not how
//! many there are. So the reported frames are aligned with the trace where most of them agree, from the outermost frame
//! inwards. Everything inside the first frame that disagrees is new, though it may be a call of the same methods.

use hprof_format::{ObjectId, Root, ThreadSerial, TraceSerial};

use jvmti::{FrameInfo, StackPlace};
use stacks::WholeStack;

/// A thread that was alive when the walk began.
#[derive(Clone, Copy)]
pub(super) struct ThreadRoot<'d> {
    /// `None` for one of the agent's own.
    pub(super) serial: Option<ThreadSerial>,
    pub(super) trace: TraceSerial,
    /// The frames of the trace, innermost first.
    pub(super) frames: &'d [FrameInfo],
}

/// Creates a root from a thread and the number of a frame in its trace.
pub(super) type RootOfFrame = fn(ThreadSerial, i32) -> Root;

/// The roots that the walk has reported so far. They wait for the last ones of their threads, in the outermost frames.
#[derive(Default)]
pub(super) struct StackRoots(Vec<StackRoot>);

struct StackRoot {
    /// The thread's index.
    thread: usize,
    object: ObjectId,
    place: StackPlace,
    root: RootOfFrame,
}

impl StackRoots {
    pub(super) fn add(
        &mut self,
        thread: usize,
        object: ObjectId,
        place: StackPlace,
        root: RootOfFrame,
    ) {
        self.0.push(StackRoot {
            thread,
            object,
            place,
            root,
        });
    }

    /// Takes all of them, thread by thread.
    pub(super) fn take(&mut self, threads: &[ThreadRoot<'_>]) -> Vec<(ObjectId, Root)> {
        let mut roots = std::mem::take(&mut self.0);
        // If any root of a frame has the frame's location, the first one has it.
        memory::sort_by_numbers(&mut roots, |StackRoot { thread, place, .. }| {
            let depth = i64::from(place.depth) - i64::from(i32::MIN);
            let without_location = u64::from(place.location.is_none());
            [
                *thread as u64,
                depth.cast_unsigned() << 1 | without_location,
            ]
        });
        let mut found = Vec::with_capacity(roots.len());
        for roots in roots.chunk_by(|one, next| one.thread == next.thread) {
            let ThreadRoot { serial, frames, .. } = threads[roots[0].thread];
            let places: Vec<StackPlace> = roots.iter().map(|root| root.place).collect();
            let overlay = Overlay::best(frames, places);
            for root in roots {
                let overlay = overlay.as_ref();
                let frame = overlay.and_then(|overlay| overlay.frame(frames, &root.place));
                let frame = frame.unwrap_or(UNKNOWN);
                let record = serial.map_or(Root::Unknown, |serial| (root.root)(serial, frame));
                found.push((root.object, record));
            }
        }
        found
    }
}

/// The format's number for an unknown frame.
const UNKNOWN: i32 = -1;

/// An alignment of a thread's stack in the walk with its trace.
struct Overlay {
    /// The depth of a frame in the walk minus its depth in the trace.
    shift: i32,
    /// The innermost frame that agrees, by the walk's count.
    innermost: i32,
    agreement: Agreement,
}

/// The quality of an alignment; greater is better.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Agreement {
    /// The number of frames at the same location in the same method, from the outermost.
    frames: usize,
    /// `true` if the next frame is in the same method at another location: it has gone on.
    goes_on: bool,
}

impl Overlay {
    /// Returns the alignment that fits the places best, innermost first; `None` if none fits, or several fit equally
    /// well, as in recursion.
    fn best(frames: &[FrameInfo], mut places: Vec<StackPlace>) -> Option<Self> {
        places.retain(|place| place.method.is_some());
        places.dedup_by_key(|place| place.depth);
        let count = i32::try_from(frames.len()).unwrap_or(i32::MAX);
        if frames.len() == WholeStack::MOST {
            // These frames may be missing from a truncated trace.
            places.retain(|place| place.depth < count);
        }
        let outermost = places.last()?.depth;
        let fitting: Vec<Self> = (0..count)
            .map(|index| Self::new(frames, &places, outermost - index))
            .filter(|overlay| overlay.agreement != Agreement::default())
            .collect();
        let best = fitting.iter().map(|overlay| overlay.agreement).max()?;
        let mut best = fitting
            .into_iter()
            .filter(|overlay| overlay.agreement == best);
        let first = best.next()?;
        best.next().is_none().then_some(first)
    }

    fn new(frames: &[FrameInfo], places: &[StackPlace], shift: i32) -> Self {
        let mut overlay = Self {
            shift,
            innermost: i32::MAX,
            agreement: Agreement::default(),
        };
        for place in places.iter().rev() {
            let Some(frame) = overlay.at(frames, place) else {
                break;
            };
            overlay.innermost = place.depth;
            if place
                .location
                .is_some_and(|location| location != frame.location)
            {
                overlay.agreement.goes_on = true;
                break;
            }
            overlay.agreement.frames += 1;
        }
        overlay
    }

    /// Returns the frame of the trace that is aligned with a place, if the method is the same.
    fn at<'f>(&self, frames: &'f [FrameInfo], place: &StackPlace) -> Option<&'f FrameInfo> {
        let frame = frames.get(usize::try_from(place.depth - self.shift).ok()?)?;
        (Some(frame.method) == place.method).then_some(frame)
    }

    /// Returns the number of the frame in the trace that holds a root at `place`.
    fn frame(&self, frames: &[FrameInfo], place: &StackPlace) -> Option<i32> {
        let agrees = place.depth >= self.innermost && self.at(frames, place).is_some();
        agrees.then_some(place.depth - self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmti::MethodId;

    /// Parses frames, innermost first: a letter for the method and a digit for the location.
    fn frames(stack: &str) -> Vec<FrameInfo> {
        let frame = |frame: &str| FrameInfo {
            method: method(frame),
            location: location(frame).expect("a location"),
        };
        stack.split(' ').map(frame).collect()
    }

    fn method(frame: &str) -> MethodId {
        MethodId::made_up(usize::from(frame.as_bytes()[0]))
    }

    fn location(frame: &str) -> Option<i64> {
        frame[1..].parse().ok()
    }

    /// Parses a place: the depth before each frame; `*` is a frame without a method.
    fn place(told: &str) -> StackPlace {
        let (depth, frame) = told.split_once(':').expect("a depth");
        StackPlace {
            thread: 1,
            thread_id: 1,
            depth: depth.parse().expect("a depth"),
            method: (frame != "*").then(|| method(frame)),
            location: location(frame),
        }
    }

    /// Returns the numbers of the frames, if the walk reports roots at these places.
    fn numbers_in(frames: &[FrameInfo], told: impl Iterator<Item = StackPlace>) -> Vec<i32> {
        let mut roots = StackRoots::default();
        for place in told {
            let root = |thread, frame| Root::JavaFrame { thread, frame };
            roots.add(0, ObjectId(1), place, root);
        }
        let thread = ThreadRoot {
            serial: Some(ThreadSerial(200_001)),
            trace: TraceSerial(300_001),
            frames,
        };
        let frame = |(_, root)| match root {
            Root::JavaFrame { frame, .. } => frame,
            other => panic!("{other:?}"),
        };
        roots.take(&[thread]).into_iter().map(frame).collect()
    }

    fn numbers(stack: &str, told: &str) -> Vec<i32> {
        numbers_in(&frames(stack), told.split(' ').map(place))
    }

    #[test]
    fn a_stack_that_stood_still_has_the_same_frames() {
        assert_eq!(numbers("s1 f2 f3 m4", "1:f2 2:f3 3:m4"), [1, 2, 3]);
        assert_eq!(numbers("s1 f2 f3 f3 x4", "1:f2"), [1], "by the location");
        assert_eq!(numbers("f1 f1 f1 x2", "0:f1 1:f1 2:f1"), [0, 1, 2]);
        assert_eq!(numbers("f1 m2", "0:f 0:f1 0:f1 1:m2"), [0, 0, 0, 1]);
        assert_eq!(numbers("n-1 m2", "0:n 1:m2"), [0, 1], "a native method");
    }

    #[test]
    fn frames_are_found_however_much_deeper_or_less_deep_they_are() {
        assert_eq!(numbers("a1 h2 m3", "5:h2 6:m3"), [1, 2]);
        assert_eq!(numbers("a1 b1 c1 h2 m3", "0:h2 1:m3"), [3, 4]);
        assert_eq!(numbers("f1 f1 f1 m2", "0:f1 1:m2"), [2, 3]);
        assert_eq!(numbers("f1 m2", "0:f1 1:f1 2:f1 3:m2"), [-1, -1, 0, 1]);
    }

    #[test]
    fn what_is_inside_a_frame_that_went_on_is_unknown() {
        assert_eq!(numbers("f1 h2 m3", "0:f1 1:h7 2:m3"), [-1, 1, 2]);
        assert_eq!(numbers("f1 g2 m3", "0:f1 1:h2 2:m3"), [-1, -1, 2]);
        assert_eq!(numbers("f1 f1 m2", "0:f1 1:f7 2:m2"), [-1, 1, 2]);
        assert_eq!(numbers("f1 h2 m3", "0:f1 1:h 1:h7 2:m3"), [-1, 1, 1, 2]);
    }

    #[test]
    fn a_recursion_that_lies_in_several_ways_over_the_trace_is_unknown() {
        assert_eq!(numbers("f1 f1 f1 x2", "0:f1 1:f1"), [-1, -1]);
        assert_eq!(numbers("f1 f2 x3", "0:f7"), [-1]);
    }

    #[test]
    fn what_the_trace_does_not_have_is_unknown() {
        assert_eq!(numbers("f1 m2", "0:g1 1:h2"), [-1, -1]);
        assert_eq!(numbers("f1 m2", "0:*"), [-1]);
        assert_eq!(numbers_in(&[], [place("0:f1")].into_iter()), [-1]);
    }

    #[test]
    fn a_trace_that_is_cut_ends_the_comparison() {
        let mut stack = vec![frames("f1")[0]; WholeStack::MOST];
        stack[0] = frames("s1")[0];
        let told = (1..WholeStack::MOST + 2).map(|depth| place(&format!("{depth}:f1")));
        let found = numbers_in(&stack, told);
        assert_eq!(found[..2], [1, 2]);
        assert_eq!(found[WholeStack::MOST - 2..], [1_023, -1, -1]);
    }
}
