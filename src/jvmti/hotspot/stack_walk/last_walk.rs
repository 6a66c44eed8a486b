//! The frames that one thread's last walk went over, with all that the walk read on its way: where none of that has changed, a walk
//! would go the same way again.

use super::MOST_FRAMES;
use super::frame::{Code, Place, Record};
use super::own_stack::OwnStack;
use super::sums::{FrameKey, Sums};
use crate::memory;

/// A word that a walk read: one of the stack, or the one behind a `jmethodID`.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) address: usize,
    pub(super) value: usize,
}

/// A frame that was walked over.
#[derive(Clone, Copy)]
pub(super) struct WalkedFrame {
    pub(super) place: Place,
    pub(super) key: FrameKey,
    /// Of this frame and those before it in the list.
    pub(super) sums: Sums,
    words_end: u32,
    codes_end: u32,
}

/// Frames and what was read on the way from each to the next one.
#[derive(Default)]
pub(super) struct FrameList {
    pub(super) frames: Vec<WalkedFrame>,
    words: Vec<Word>,
    codes: Vec<Code>,
}

impl FrameList {
    pub(super) fn clear(&mut self) {
        self.truncate(0);
    }

    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        self.frames.truncate(len);
        let (words, codes) = self.ends(len);
        self.words.truncate(words);
        self.codes.truncate(codes);
    }

    /// Where what belongs to the first frames ends.
    #[inline]
    fn ends(&self, len: usize) -> (usize, usize) {
        let last = len.checked_sub(1).map(|last| &self.frames[last]);
        last.map_or((0, 0), |last| {
            (last.words_end as usize, last.codes_end as usize)
        })
    }

    /// Adds a frame, to which belongs what was read since the last one.
    #[inline]
    pub(super) fn add(&mut self, place: Place, key: FrameKey) {
        let before = self.sums(self.frames.len());
        memory::need_to_grow(
            self.frames.len(),
            self.frames.capacity(),
            size_of::<WalkedFrame>(),
        );
        self.frames.push(WalkedFrame {
            place,
            key,
            sums: before.with(key),
            words_end: self.words.len() as u32,
            codes_end: self.codes.len() as u32,
        });
    }

    /// The sums of the first frames.
    #[inline]
    pub(super) fn sums(&self, len: usize) -> Sums {
        let last = len.checked_sub(1).map(|last| self.frames[last].sums);
        last.unwrap_or_default()
    }

    /// Takes the last frames of another list away, all but so many, and adds them in the opposite order.
    pub(super) fn add_reversed(&mut self, other: &mut Self, keep: usize) {
        for index in (keep..other.frames.len()).rev() {
            let (words, codes) = other.ends(index);
            let frame = other.frames[index];
            add_all(
                &mut self.words,
                &other.words[words..frame.words_end as usize],
            );
            add_all(
                &mut self.codes,
                &other.codes[codes..frame.codes_end as usize],
            );
            self.add(frame.place, frame.key);
        }
        other.truncate(keep);
    }

    /// The last frame from `first` on at which something has changed.
    #[inline]
    pub(super) fn last_changed(
        &self,
        first: usize,
        is_word: impl Fn(&Word) -> bool,
        is_code: impl Fn(&Code) -> bool,
    ) -> Option<usize> {
        let (words, codes) = self.ends(first);
        if all(&self.words[words..], &is_word) && all(&self.codes[codes..], &is_code) {
            return None;
        }
        (first..self.frames.len()).rev().find(|&index| {
            let ((words, codes), frame) = (self.ends(index), &self.frames[index]);
            let words = &self.words[words..frame.words_end as usize];
            let codes = &self.codes[codes..frame.codes_end as usize];
            !(words.iter().all(&is_word) && codes.iter().all(&is_code))
        })
    }
}

/// Whether all are as they were. Nearly all are, so a look at several at a time saves branches.
#[inline]
fn all<T>(recorded: &[T], is_same: impl Fn(&T) -> bool) -> bool {
    let (blocks, rest) = recorded.as_chunks::<8>();
    let mut blocks = blocks.iter();
    blocks.all(|block| block.iter().fold(true, |same, one| same & is_same(one)))
        && rest.iter().all(is_same)
}

#[inline]
fn add_all<T: Copy>(list: &mut Vec<T>, more: &[T]) {
    memory::need_to_grow(list.len() + more.len(), list.capacity(), size_of::<T>());
    list.extend_from_slice(more);
}

impl Record for FrameList {
    #[inline]
    fn read(&mut self, address: usize, value: usize) {
        let words = &mut self.words;
        memory::need_to_grow(words.len(), words.capacity(), size_of::<Word>());
        words.push(Word { address, value });
    }

    #[inline]
    fn runs(&mut self, code: Code) {
        let codes = &mut self.codes;
        memory::need_to_grow(codes.len(), codes.capacity(), size_of::<Code>());
        codes.push(code);
    }
}

/// What is left of the last walk. Everything in it is looked at again before it is believed.
#[derive(Default)]
pub(super) struct LastWalk {
    /// The frames, outermost first: without a gap, but not always down to the thread's first.
    pub(super) known: FrameList,
    /// Those that the walk under way has found, innermost first.
    pub(super) found: FrameList,
    /// Where the frame before the first is; `None` where there is none.
    pub(super) before: Option<Place>,
    /// Where the stack begins that the frames are on.
    base: usize,
    /// How many of the outermost frames have not been taken away since [`LastWalk::settle`].
    unchanged: usize,
}

impl LastWalk {
    /// A walk over this stack begins.
    #[inline]
    pub(super) fn begin(&mut self, stack: OwnStack) {
        self.found.clear();
        if self.base != stack.base() {
            self.keep(0);
            self.before = None;
            self.base = stack.base();
        }
    }

    /// Forgets all known frames but so many of the outermost.
    #[inline]
    pub(super) fn keep(&mut self, frames: usize) {
        self.known.truncate(frames);
        self.unchanged = self.unchanged.min(frames);
    }

    /// Forgets the frames which ended before one at this place could stand there.
    #[inline]
    pub(super) fn keep_from(&mut self, sp: usize) {
        let frames = &self.known.frames;
        let mut len = frames.len();
        while len > 0 && frames[len - 1].place.sp < sp {
            len -= 1;
        }
        if len < frames.len() {
            self.keep(len);
        }
    }

    /// The known frames, all but so many of the outermost, are found as they were.
    pub(super) fn find_known(&mut self, keep: usize) {
        self.found.add_reversed(&mut self.known, keep);
        self.unchanged = self.unchanged.min(keep);
    }

    /// The walk is over: what it has found is known. `false` where that would be too much, and nothing is known.
    #[inline]
    pub(super) fn learn(&mut self) -> bool {
        if self.known.frames.len() + self.found.frames.len() > MOST_FRAMES {
            self.keep(0);
            self.found.clear();
            return false;
        }
        self.known.add_reversed(&mut self.found, 0);
        true
    }

    /// The first of the innermost known frames that stand for so many methods; the first of all where fewer are known.
    #[inline]
    pub(super) fn first_of(&self, methods: usize) -> usize {
        let frames = &self.known.frames;
        let all = self.known.sums(frames.len()).methods as usize;
        match all.checked_sub(methods) {
            None | Some(0) => 0,
            Some(before) => frames.partition_point(|frame| frame.sums.methods as usize <= before),
        }
    }

    pub(super) fn unchanged(&self) -> usize {
        self.unchanged
    }

    pub(super) fn settle(&mut self) {
        self.unchanged = self.known.frames.len();
    }
}
