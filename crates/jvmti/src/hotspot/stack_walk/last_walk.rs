//! The frames of one thread's last walk, with all values that the walk read on its way: if none of them has changed, a
//! walk would find the same frames again.

use super::MOST_FRAMES;
use super::frame::{Code, NumberedMethod, Place, Record};
use super::own_stack::OwnStack;
use super::sums::{FrameKey, Sums};
use memory::{List, OrStop};

/// A word that a walk read: on the stack, or the one that a `jmethodID` points to.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) address: usize,
    pub(super) value: usize,
}

/// A frame that was walked.
#[derive(Clone, Copy)]
pub(super) struct WalkedFrame {
    pub(super) place: Place,
    pub(super) key: FrameKey,
    /// The sums of this frame and those before it in the list.
    pub(super) sums: Sums,
    ends: Ends,
}

/// The numbers of values that belong to a frame and to those before it in the list.
#[derive(Clone, Copy, Default)]
struct Ends {
    words: u32,
    codes: u32,
    methods: u32,
}

/// Frames, and the values read on the way from each to the next one.
#[derive(Default)]
pub(super) struct FrameList {
    pub(super) frames: List<WalkedFrame>,
    words: List<Word>,
    codes: List<Code>,
    methods: List<NumberedMethod>,
}

/// Says of each value of a walk whether it is unchanged.
pub(super) trait Unchanged {
    fn is_word(&self, word: &Word) -> bool;
    fn is_code(&self, code: &Code) -> bool;
    /// Called once the words and the code say that the method is still in a frame.
    fn is_method(&self, method: &NumberedMethod) -> bool;
}

impl FrameList {
    pub(super) fn clear(&mut self) {
        self.truncate(0);
    }

    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        self.frames.truncate(len);
        let ends = self.ends(len);
        self.words.truncate(ends.words as usize);
        self.codes.truncate(ends.codes as usize);
        self.methods.truncate(ends.methods as usize);
    }

    /// Returns the ends of the values that belong to the first `len` frames.
    #[inline]
    fn ends(&self, len: usize) -> Ends {
        let last = len.checked_sub(1).map(|last| &self.frames[last]);
        last.map_or(Ends::default(), |last| last.ends)
    }

    /// Returns the values between two ends.
    #[inline]
    fn between(&self, from: Ends, to: Ends) -> (&[Word], &[Code], &[NumberedMethod]) {
        (
            &self.words[from.words as usize..to.words as usize],
            &self.codes[from.codes as usize..to.codes as usize],
            &self.methods[from.methods as usize..to.methods as usize],
        )
    }

    /// Adds a frame, to which all values read since the last one belong.
    #[inline]
    pub(super) fn add(&mut self, place: Place, key: FrameKey) {
        let before = self.sums(self.frames.len());
        let frame = WalkedFrame {
            place,
            key,
            sums: before.with(key),
            ends: Ends {
                words: self.words.len() as u32,
                codes: self.codes.len() as u32,
                methods: self.methods.len() as u32,
            },
        };
        self.frames.push(frame).or_stop();
    }

    /// Returns the sums of the first `len` frames.
    #[inline]
    pub(super) fn sums(&self, len: usize) -> Sums {
        let last = len.checked_sub(1).map(|last| self.frames[last].sums);
        last.unwrap_or_default()
    }

    /// Removes the last frames of another list, all but `keep`, and adds them in reverse order.
    pub(super) fn add_reversed(&mut self, other: &mut Self, keep: usize) {
        for index in (keep..other.frames.len()).rev() {
            let frame = other.frames[index];
            let (words, codes, methods) = other.between(other.ends(index), frame.ends);
            for word in words {
                self.read(word.address, word.value);
            }
            for &code in codes {
                self.runs(code);
            }
            for &method in methods {
                self.interprets(method);
            }
            self.add(frame.place, frame.key);
        }
        other.truncate(keep);
    }

    /// Returns the last frame from `first` on at which something has changed. A method counts as one in a frame only if
    /// the words and the code of its frame, and of all after it in the list, are unchanged.
    #[inline]
    pub(super) fn last_changed(&self, first: usize, unchanged: &impl Unchanged) -> Option<usize> {
        let (words, codes, methods) = self.between(self.ends(first), self.ends(self.frames.len()));
        // Nearly all are unchanged, so comparing several at a time saves branches.
        let (blocks, rest) = words.as_chunks::<8>();
        let is_same = |same, word| same & unchanged.is_word(word);
        let are_words = blocks.iter().all(|block| block.iter().fold(true, is_same))
            && rest.iter().all(|word| unchanged.is_word(word));
        if are_words
            && codes.iter().all(|code| unchanged.is_code(code))
            && methods.iter().all(|method| unchanged.is_method(method))
        {
            return None;
        }
        (first..self.frames.len()).rev().find(|&index| {
            let ends = (self.ends(index), self.frames[index].ends);
            let (words, codes, methods) = self.between(ends.0, ends.1);
            let is_unchanged = words.iter().all(|word| unchanged.is_word(word))
                && codes.iter().all(|code| unchanged.is_code(code))
                && methods.iter().all(|method| unchanged.is_method(method));
            !is_unchanged
        })
    }
}

impl Record for FrameList {
    #[inline]
    fn read(&mut self, address: usize, value: usize) {
        self.words.push(Word { address, value }).or_stop();
    }

    #[inline]
    fn interprets(&mut self, method: NumberedMethod) {
        self.methods.push(method).or_stop();
    }

    #[inline]
    fn runs(&mut self, code: Code) {
        self.codes.push(code).or_stop();
    }
}

/// The rest of the last walk. Everything in it is checked again before it is used.
#[derive(Default)]
pub(super) struct LastWalk {
    /// The frames, outermost first: without a gap, but not always from the thread's very first.
    pub(super) known: FrameList,
    /// The frames that the current walk has found, innermost first.
    pub(super) found: FrameList,
    /// The position of the frame before the first; `None` if there is none.
    pub(super) before: Option<Place>,
    /// The base of the stack that the frames are on.
    base: usize,
    /// The number of outermost frames that have not been removed since [`LastWalk::settle`].
    unchanged: usize,
}

impl LastWalk {
    /// Begins a walk over this stack.
    #[inline]
    pub(super) fn begin(&mut self, stack: OwnStack) {
        self.found.clear();
        if self.base != stack.base() {
            self.keep(0);
            self.before = None;
            self.base = stack.base();
        }
    }

    /// Keeps the outermost `frames` known frames and forgets the rest.
    #[inline]
    pub(super) fn keep(&mut self, frames: usize) {
        self.known.truncate(frames);
        self.unchanged = self.unchanged.min(frames);
    }

    /// Forgets the frames that must have ended before there could be one at this position.
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

    /// Marks the known frames, all but the outermost `keep`, as found unchanged.
    pub(super) fn find_known(&mut self, keep: usize) {
        self.found.add_reversed(&mut self.known, keep);
        self.unchanged = self.unchanged.min(keep);
    }

    /// Ends the walk: the frames found become known. Returns `false` if they are too many, and nothing is known.
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

    /// Returns the first of the innermost known frames that stand for that many methods; the very first if fewer are
    /// known.
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
