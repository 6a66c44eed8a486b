//! Millions of words with labels that many of them share.

use std::{iter, mem};

use super::{List, OutOfMemory};

/// The words that are packed together. Those of one label are next to each other, so that it is stored once. Their own bits take a
/// mapping, which goes back to the system when they are forgotten.
const BLOCK: usize = 64 * 1024;
/// Fewer words than this stay as they are: a block has a size of its own.
const FEW: usize = 64;
/// So many blocks may be less than half full: if each addition were joined with the block before, all words would be moved again and
/// again.
const MOST_SMALL: usize = 8;
/// How many words before its turn a word is announced.
const AHEAD: usize = 32;
/// The place of the 32 bits that are stored for each word. Those of a run share the others: words are addresses of aligned
/// memory, which have the same highest bits within 32 GB.
const SHIFT: u32 = 3;

/// A word, and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelledWord {
    /// The label.
    pub label: u64,
    /// The word, which may be any.
    pub word: u64,
}

/// Words with labels, in no order. Each takes 4 bytes, and 16 are added for each run of words with one label among tens of
/// thousands that were added one after another. The last of them take 16 bytes each until [`LabelledWords::close`].
#[derive(Default)]
pub struct LabelledWords {
    blocks: List<Block>,
    /// Those that are not in a block: fewer than [`BLOCK`].
    open: List<LabelledWord>,
}

/// Words in runs, sorted.
struct Block {
    runs: List<Run>,
    /// The own bits of each word.
    own: List<u32>,
}

/// Words of one label that follow each other in a block.
#[derive(Clone, Copy)]
struct Run {
    label: u64,
    /// The bits that the words share, without the gap between them.
    shared: u32,
    words: u32,
}

/// A place in a block.
#[derive(Default)]
struct Cursor {
    /// The next word.
    word: usize,
    /// The run after that of the word before.
    run: usize,
    /// The words that are left of the run before.
    left: u32,
}

impl LabelledWords {
    /// Returns the number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Block::len).sum::<usize>() + self.open.len()
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.blocks.iter().all(|block| block.own.is_empty())
    }

    /// Adds a word.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the word has not been added.
    pub fn push(&mut self, word: LabelledWord) -> Result<(), OutOfMemory> {
        if self.open.len() + 1 >= BLOCK {
            self.pack()?;
        }
        self.open.push(word)
    }

    /// Adds all words of the other.
    ///
    /// # Errors
    /// [`OutOfMemory`]; some of the words may be lost.
    pub fn append(&mut self, mut other: Self) -> Result<(), OutOfMemory> {
        // The fewer are moved one by one.
        if self.open.len() < other.open.len() {
            mem::swap(&mut self.open, &mut other.open);
        }
        self.blocks.extend(other.blocks)?;
        other.open.into_iter().try_for_each(|word| self.push(word))
    }

    /// Iterates over all words.
    pub fn iter(&self) -> impl Iterator<Item = LabelledWord> {
        let packed = self.blocks.iter().flat_map(Block::words);
        packed.chain(self.open.iter().copied())
    }

    /// Removes the words that are not to be kept. `announce` is called with each word some time before `keep`.
    pub fn retain(&mut self, announce: impl Fn(u64), mut keep: impl FnMut(LabelledWord) -> bool) {
        for block in self.blocks.iter_mut() {
            block.retain(&announce, &mut keep);
        }
        self.open.iter().for_each(|open| announce(open.word));
        self.open.retain(|&word| keep(word));
    }

    /// Packs what has been added, and joins what has become small: to be called when no more words are added for a while.
    ///
    /// # Errors
    /// [`OutOfMemory`]; some of the words may be lost.
    pub fn close(&mut self) -> Result<(), OutOfMemory> {
        let small = |block: &Block| block.len() < BLOCK / 2;
        if self.blocks.iter().filter(|block| small(block)).count() > MOST_SMALL {
            for block in mem::take(&mut self.blocks) {
                match small(&block) {
                    true => block.words().try_for_each(|word| self.push(word))?,
                    false => self.blocks.push(block)?,
                }
            }
        }
        match self.open.len() {
            0 => self.open = List::new(),
            1..FEW => self.open.shrink_to_fit(),
            _ => {
                self.pack()?;
                self.open = List::new();
            }
        }
        Ok(())
    }

    fn pack(&mut self) -> Result<(), OutOfMemory> {
        sort(&mut self.open);
        self.blocks.push(Block::of(&self.open)?)?;
        self.open.clear();
        Ok(())
    }
}

impl IntoIterator for LabelledWords {
    type Item = LabelledWord;
    type IntoIter = Box<dyn Iterator<Item = LabelledWord>>;

    fn into_iter(self) -> Self::IntoIter {
        let packed = self.blocks.into_iter().flat_map(Block::into_words);
        Box::new(packed.chain(self.open))
    }
}

#[inline(never)]
fn sort(words: &mut [LabelledWord]) {
    words.sort_unstable();
}

impl Block {
    /// Packs sorted words.
    fn of(words: &[LabelledWord]) -> Result<Self, OutOfMemory> {
        let runs = words.chunk_by(|a, b| a.label == b.label && shared(a.word) == shared(b.word));
        let mut runs = List::collect(runs.map(Run::of))?;
        runs.shrink_to_fit();
        Ok(Self {
            runs,
            own: List::collect(words.iter().map(|word| own(word.word)))?,
        })
    }

    fn len(&self) -> usize {
        self.own.len()
    }

    fn words(&self) -> impl Iterator<Item = LabelledWord> {
        let mut cursor = Cursor::default();
        iter::from_fn(move || cursor.next(self))
    }

    fn into_words(self) -> impl Iterator<Item = LabelledWord> {
        let mut cursor = Cursor::default();
        iter::from_fn(move || cursor.next(&self))
    }

    fn retain(&mut self, announce: &impl Fn(u64), keep: &mut impl FnMut(LabelledWord) -> bool) {
        let (mut ahead, mut cursor) = (Cursor::default(), Cursor::default());
        for _ in 0..AHEAD {
            ahead.next(self).iter().for_each(|word| announce(word.word));
        }
        // What is kept moves to places that neither cursor reads again.
        let (mut words, mut runs, mut words_of_run) = (0, 0, 0);
        while let Some(word) = cursor.next(self) {
            ahead.next(self).iter().for_each(|word| announce(word.word));
            if keep(word) {
                self.own[words] = own(word.word);
                words += 1;
                words_of_run += 1;
            }
            if cursor.left == 0 && words_of_run > 0 {
                self.runs[runs] = Run {
                    words: mem::take(&mut words_of_run),
                    ..self.runs[cursor.run - 1]
                };
                runs += 1;
            }
        }
        self.own.truncate(words);
        self.runs.truncate(runs);
        if self.own.capacity() - words > words / 8 {
            self.own.shrink_to_fit();
            self.runs.shrink_to_fit();
        }
    }
}

impl Cursor {
    #[inline]
    fn next(&mut self, block: &Block) -> Option<LabelledWord> {
        if self.left == 0 {
            self.left = block.runs.get(self.run)?.words;
            self.run += 1;
        }
        let run = block.runs.get(self.run - 1)?;
        let own = *block.own.get(self.word)?;
        self.word += 1;
        self.left -= 1;
        Some(LabelledWord {
            label: run.label,
            word: joined(run.shared, own),
        })
    }
}

impl Run {
    #[expect(clippy::cast_possible_truncation, reason = "a block has fewer")]
    fn of(words: &[LabelledWord]) -> Self {
        let first = words.first();
        Self {
            label: first.map_or(0, |first| first.label),
            shared: first.map_or(0, |first| shared(first.word)),
            words: words.len() as u32,
        }
    }
}

/// Returns the bits of a word that those of a run share.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "29 bits and 3")]
fn shared(word: u64) -> u32 {
    let low = word & ((1 << SHIFT) - 1);
    (word >> (u32::BITS + SHIFT) << SHIFT | low) as u32
}

/// Returns the other bits of a word.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the others are shared")]
fn own(word: u64) -> u32 {
    (word >> SHIFT) as u32
}

#[inline]
fn joined(shared: u32, own: u32) -> u64 {
    let (high, low) = (
        u64::from(shared >> SHIFT),
        u64::from(shared) & ((1 << SHIFT) - 1),
    );
    high << (u32::BITS + SHIFT) | u64::from(own) << SHIFT | low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OrStop;

    fn labelled(label: u64, word: u64) -> LabelledWord {
        LabelledWord { label, word }
    }

    /// Words as they come: of few labels and many, close to each other and anywhere.
    fn some(count: u64) -> impl Iterator<Item = LabelledWord> + Clone {
        (0..count).map(|number| {
            let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            match number % 3 {
                0 => labelled(number % 7, 0x7F12_3456_0000 + 8 * number + 1),
                1 => labelled(mixed % 1_000, mixed),
                _ => labelled(mixed, !mixed),
            }
        })
    }

    fn sorted(words: impl IntoIterator<Item = LabelledWord>) -> Vec<LabelledWord> {
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable();
        words
    }

    fn filled(words: impl IntoIterator<Item = LabelledWord>) -> LabelledWords {
        let mut all = LabelledWords::default();
        words.into_iter().for_each(|word| all.push(word).or_stop());
        all
    }

    fn bytes(words: &LabelledWords) -> usize {
        let blocks = words.blocks.iter();
        let packed =
            blocks.map(|block| 4 * block.own.capacity() + size_of::<Run>() * block.runs.capacity());
        packed.sum::<usize>() + size_of::<LabelledWord>() * words.open.capacity()
    }

    #[test]
    fn any_word_is_the_same_afterwards() {
        for word in [
            0,
            1,
            7,
            8,
            u64::MAX,
            1 << 34,
            1 << 35,
            0x7FFF_FFFF_FFFF,
            !0 << 35,
        ] {
            assert_eq!(joined(shared(word), own(word)), word, "{word:x}");
        }
    }

    #[test]
    fn all_words_stay_whatever_is_done() {
        for count in [0, 1, 63, 64, 1_000, 65_535, 65_536, 150_000] {
            if cfg!(miri) && count > 1_000 {
                continue;
            }
            let mut words = filled(some(count));
            assert_eq!(sorted(words.iter()), sorted(some(count)), "{count} added");
            words.close().or_stop();
            words.append(filled(some(1_000))).or_stop();
            words.close().or_stop();
            let expected = sorted(some(count).chain(some(1_000)));
            assert_eq!(words.len(), expected.len());
            assert_eq!(sorted(words.iter()), expected, "{count} packed");
            assert_eq!(sorted(words), expected, "{count} taken");
        }
    }

    #[test]
    fn what_is_kept_is_looked_at_once_and_has_been_announced() {
        for (nth, count) in [
            (2, 40_000_u64),
            (5, 40_000),
            (40_000, 40_000),
            (1, 40_000),
            (3, 500),
            (3, 50),
        ] {
            if cfg!(miri) && count > 500 {
                continue;
            }
            let mut words = filled(some(count));
            words.close().or_stop();
            words.push(labelled(1, 2)).or_stop();
            let is_kept = |word: LabelledWord| {
                !word
                    .word
                    .wrapping_mul(31)
                    .rotate_right(7)
                    .is_multiple_of(nth)
            };
            let announced = std::cell::RefCell::new(Vec::new());
            let mut seen = Vec::new();
            words.retain(
                |word| announced.borrow_mut().push(word),
                |word| {
                    assert!(announced.borrow().len() > seen.len());
                    seen.push(word);
                    is_kept(word)
                },
            );
            let all = some(count).chain([labelled(1, 2)]);
            assert_eq!(sorted(seen), sorted(all.clone()));
            assert_eq!(
                announced.borrow().len(),
                words.len().max(count as usize + 1)
            );
            words.close().or_stop();
            assert_eq!(
                sorted(words),
                sorted(all.filter(|&word| is_kept(word))),
                "each {nth}th"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a hundred thousand words take minutes")]
    fn a_word_of_a_common_label_takes_little_more_than_four_bytes() {
        let alike = |from: u64| {
            (from..from + 40_000).map(|number| labelled(number % 50, 0x7F12_3456_0000 + 8 * number))
        };
        let mut words = filled(alike(0));
        words.close().or_stop();
        assert!(bytes(&words) < 40_000 * 9 / 2, "{}", bytes(&words));
        // Few at a time are joined with those before, and what many are missing of is joined, too.
        for some in 0..80 {
            words
                .append(filled(alike(40_000 + 500 * some).take(500)))
                .or_stop();
            words.close().or_stop();
        }
        assert!(bytes(&words) < 80_000 * 9 / 2, "{}", bytes(&words));
        words.retain(|_| (), |word| word.word % 80 == 0);
        words.close().or_stop();
        assert_eq!(words.len(), 8_000);
        assert!(bytes(&words) < 8_000 * 9 / 2, "{}", bytes(&words));
    }

    #[test]
    fn few_words_take_no_more_than_what_they_are() {
        let mut words = filled(some(10));
        words.close().or_stop();
        assert_eq!(bytes(&words), 160);
    }
}
