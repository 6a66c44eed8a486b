//! Traces: frames from the innermost on.

use std::hash::{Hash, Hasher};

use hashbrown::Equivalent;

use super::frame::FrameId;
use super::intern::{Interner, table_ids};
use super::thread::ThreadSerial;

table_ids! {
    /// A trace.
    TraceId
}

impl TraceId {
    /// The trace without frames, of the system rather than of the program.
    pub const EMPTY: Self = Self(0);
}

/// One trace.
pub struct Trace {
    /// The thread, where traces are kept apart by thread (`thread=y`).
    pub thread: Option<ThreadSerial>,
    /// The frames, innermost first.
    pub frames: Box<[FrameId]>,
}

/// What makes a trace the same as another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceKey<'a> {
    /// See [`Trace::thread`].
    pub thread: Option<ThreadSerial>,
    /// See [`Trace::frames`].
    pub frames: &'a [FrameId],
}

impl Trace {
    fn new(key: TraceKey<'_>) -> Self {
        Self {
            thread: key.thread,
            frames: key.frames.into(),
        }
    }

    fn key(&self) -> TraceKey<'_> {
        TraceKey {
            thread: self.thread,
            frames: &self.frames,
        }
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Trace {}

impl Hash for Trace {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Equivalent<Trace> for TraceKey<'_> {
    fn equivalent(&self, trace: &Trace) -> bool {
        *self == trace.key()
    }
}

/// The trace table.
pub struct Traces(Interner<Trace>);

impl Default for Traces {
    fn default() -> Self {
        let traces = Self(Interner::default());
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
    /// The id of a trace.
    pub fn intern(&self, key: TraceKey<'_>) -> TraceId {
        TraceId(self.0.intern(&key, || Trace::new(key)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// The trace.
    pub fn get(&self, id: TraceId) -> &Trace {
        self.0.get(id.0)
    }

    /// All traces.
    pub fn iter(&self) -> impl Iterator<Item = (TraceId, &Trace)> {
        self.0.iter().map(|(index, trace)| (TraceId(index), trace))
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
}
