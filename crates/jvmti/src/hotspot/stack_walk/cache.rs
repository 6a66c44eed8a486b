//! One system thread's memory of the frames it has walked.

use super::super::code_heap::{BlockStart, CodeBlob};
use super::compiled::{CodePlace, PlaceKind};
use super::last_walk::LastWalk;
use super::sums::FrameKey;

/// The initial and the greatest number of slots, 48 bytes each.
const FIRST: usize = 64;
const MOST: usize = 4_096;

/// Facts about frames, and the frames of the last remembered walk.
#[derive(Default)]
pub struct WalkCache {
    pub(super) frames: FrameCache,
    pub(super) last: LastWalk,
}

/// Facts about return addresses in compiled code, and about methods that the interpreter runs.
#[derive(Default)]
pub(super) struct FrameCache {
    places: Slots<CodePlace>,
    /// `Method*` to `jmethodID`.
    methods: Slots<usize>,
    /// See [`WalkCache::unknown`].
    pub(super) unknown: Option<usize>,
}

/// A table in which every key has one slot, which its most recent key occupies.
struct Slots<T> {
    slots: Vec<(usize, T)>,
    /// The number of times a key has displaced another since the table grew.
    displaced: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            displaced: 0,
        }
    }
}

impl FrameCache {
    #[inline]
    pub(super) fn place(&self, pc: usize) -> Option<CodePlace> {
        self.places.get(pc)
    }

    pub(super) fn set_place(&mut self, pc: usize, place: CodePlace) {
        self.places.set(pc, place);
    }

    #[inline]
    pub(super) fn method(&self, method: usize) -> Option<usize> {
        self.methods.get(method)
    }

    pub(super) fn set_method(&mut self, method: usize, id: usize) {
        self.methods.set(method, id);
    }
}

impl WalkCache {
    /// Returns, if the last walk ended at a method whose id is not known yet, the number of methods from the innermost
    /// up to and including that one.
    pub fn unknown(&self) -> Option<usize> {
        self.frames.unknown
    }

    /// Returns the number of methods that the frames known from the last walk stand for: those that were wanted, and
    /// possibly more.
    pub fn methods(&self) -> usize {
        self.methods_before(self.last.known.frames.len())
    }

    /// Returns the number of methods that the outermost frames stand for.
    pub fn methods_before(&self, frames: usize) -> usize {
        self.last.known.sums(frames).methods as usize
    }

    /// Returns the frames of the last walk, outermost first, from the one with the method that has `methods` before it,
    /// and the number of frames before it.
    pub fn frames_from(
        &self,
        methods: usize,
    ) -> (usize, impl DoubleEndedIterator<Item = FrameKey>) {
        let frames = &self.last.known.frames;
        let first = frames.partition_point(|frame| frame.sums.methods as usize <= methods);
        (first, frames[first..].iter().map(|frame| frame.key))
    }

    /// Returns the number of methods that the outermost frames stand for which have not changed since
    /// [`WalkCache::settle`].
    pub fn unchanged(&self) -> usize {
        self.methods_before(self.last.unchanged())
    }

    /// Marks the frames as unchanged from now on.
    pub fn settle(&mut self) {
        self.last.settle();
    }
}

impl<T: Copy + Empty> Slots<T> {
    #[inline]
    fn get(&self, key: usize) -> Option<T> {
        let (slot_key, value) = self.slots.get(self.slot(key))?;
        (*slot_key == key).then_some(*value)
    }

    fn set(&mut self, key: usize, value: T) {
        if self.slots.is_empty() {
            self.slots.resize(FIRST, (0, T::EMPTY));
        }
        let slot = self.slot(key);
        let before = std::mem::replace(&mut self.slots[slot], (key, value));
        if before.0 == 0 || before.0 == key {
            return;
        }
        self.displaced += 1;
        if self.displaced > self.slots.len() && self.slots.len() < MOST {
            self.grow();
        }
    }

    fn grow(&mut self) {
        memory::need(self.slots.len() * 4 * size_of::<(usize, T)>());
        let more = vec![(0, T::EMPTY); self.slots.len() * 4];
        self.displaced = 0;
        for (key, value) in std::mem::replace(&mut self.slots, more) {
            if key != 0 {
                let slot = self.slot(key);
                self.slots[slot] = (key, value);
            }
        }
    }

    /// Spreads a key: addresses are multiples of something, so their low bits alone would leave most slots empty.
    #[inline]
    fn slot(&self, key: usize) -> usize {
        let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
        (spread >> 40) & self.slots.len().wrapping_sub(1)
    }
}

/// The value of an unoccupied slot, whose key is 0.
trait Empty {
    const EMPTY: Self;
}

impl Empty for usize {
    const EMPTY: Self = 0;
}

impl Empty for CodePlace {
    const EMPTY: Self = Self {
        blob: CodeBlob(0),
        start: BlockStart::NONE,
        identity: 0,
        key: 0,
        frame_words: 0,
        frames: 0,
        kind: PlaceKind::Stub,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_forgets_grows() {
        let mut slots = Slots::<usize>::default();
        assert_eq!(slots.get(16), None);
        for round in 0..20 {
            for key in (1..=1_000).map(|key| key * 16) {
                slots.set(key, key + round);
            }
        }
        assert_eq!(slots.slots.len(), MOST);
        let known = (1..=1_000).filter(|key| slots.get(key * 16) == Some(key * 16 + 19));
        assert!(known.count() > 800);
        for key in 1..1_000_000 {
            slots.set(key, key);
        }
        assert_eq!(slots.slots.len(), MOST);
        assert_eq!(slots.get(999_999), Some(999_999));
    }
}
