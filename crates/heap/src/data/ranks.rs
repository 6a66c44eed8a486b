//! A set of numbers that knows how many of them are below each one.

use std::io::{self, Write};

use crate::data::memory::{Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};

/// The numbers in a word of the set.
const WORD: usize = u64::BITS as usize;

/// A set of numbers while it is collected.
#[derive(Debug)]
pub(crate) struct NewSet {
    words: Numbers<u64>,
}

impl NewSet {
    /// Creates an empty set of numbers below `length`.
    pub(crate) fn new(length: usize, memory: &Memory) -> io::Result<NewSet> {
        let words = memory.table(length.div_ceil(WORD))?;
        Ok(NewSet { words })
    }

    /// Creates the set of all numbers below `length`.
    pub(crate) fn all(length: usize, memory: &Memory) -> io::Result<NewSet> {
        let mut set = NewSet::new(length, memory)?;
        set.words.fill(u64::MAX);
        if let (used @ 1.., Some(last)) = (length % WORD, set.words.last_mut()) {
            *last = (1 << used) - 1;
        }
        Ok(set)
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) {
        self.words[number as usize / WORD] &= !(1 << (number as usize % WORD));
    }

    #[inline]
    pub(crate) fn insert(&mut self, number: u32) {
        self.words[number as usize / WORD] |= 1 << (number as usize % WORD);
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / WORD] >> (number as usize % WORD) & 1 != 0
    }

    /// Counts the numbers, so that each has a rank.
    pub(crate) fn rank(self, memory: &Memory) -> io::Result<Ranks> {
        let mut before: Numbers<u32> = memory.table(self.words.len())?;
        let mut count = 0;
        for (before, word) in before.iter_mut().zip(&self.words[..]) {
            *before = count;
            count += word.count_ones();
        }
        Ok(Ranks {
            words: self.words,
            before,
            count,
        })
    }
}

/// A set of numbers with their ranks.
#[derive(Debug)]
pub(crate) struct Ranks {
    words: Numbers<u64>,
    /// The number of those before each word.
    before: Numbers<u32>,
    count: u32,
}

impl Ranks {
    /// Writes it as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&self.words)?;
        out.table(&self.before)
    }

    /// Reads a set of numbers below `length`; `None` if it is damaged. The ranks may be any, and are not read here.
    pub(crate) fn load(index: &mut SectionReader, length: usize) -> Option<Ranks> {
        Ranks::from_tables(index.table()?, index.table()?, length)
    }

    fn from_tables(words: Numbers<u64>, before: Numbers<u32>, length: usize) -> Option<Ranks> {
        let last = words.last().copied().unwrap_or_default();
        let beyond = match length % WORD {
            0 => 0,
            used => last >> used,
        };
        let is_sound =
            words.len() == length.div_ceil(WORD) && before.len() == words.len() && beyond == 0;
        let known = before.last().copied().unwrap_or_default();
        let count = known.checked_add(last.count_ones())?;
        is_sound.then_some(Ranks {
            words,
            before,
            count,
        })
    }

    /// Returns how many numbers there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / WORD] >> (number as usize % WORD) & 1 != 0
    }

    /// Returns the rank of a number; `None` if it is not in the set.
    #[inline]
    pub(crate) fn find(&self, number: u32) -> Option<u32> {
        let (index, bit) = (number as usize / WORD, number as usize % WORD);
        let word = self.words[index];
        (word >> bit & 1 != 0).then(|| self.rank(number))
    }

    /// Returns how many numbers of the set are below this one.
    #[inline]
    pub(crate) fn rank(&self, number: u32) -> u32 {
        let (word, bit) = (number as usize / WORD, number as usize % WORD);
        // That of a damaged index may be any.
        self.before[word].wrapping_add((self.words[word] & ((1 << bit) - 1)).count_ones())
    }

    /// Returns the greatest number of the set below this one; 0 if there is none.
    pub(crate) fn before(&self, number: u32) -> u32 {
        self.below(number).next().unwrap_or_default()
    }

    /// Iterates over the numbers below `end`, the greatest first.
    pub(crate) fn below(&self, end: u32) -> impl Iterator<Item = u32> {
        let mut index = end as usize / WORD;
        let first = self.words.get(index).copied().unwrap_or_default();
        let mut rest = first & ((1 << (end as usize % WORD)) - 1);
        std::iter::from_fn(move || {
            while rest == 0 {
                index = index.checked_sub(1)?;
                rest = self.words[index];
            }
            let bit = rest.ilog2();
            rest &= !(1 << bit);
            Some((index * WORD) as u32 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_rank_is_the_number_of_those_below(
            numbers in proptest::collection::btree_set(0..1000_u32, 0..200),
            length in prop_oneof![Just(1000_usize), Just(1024)],
        ) {
            let memory = Memory::unlimited();
            let mut set = NewSet::new(length, &memory).expect("there is memory");
            for &number in &numbers {
                set.insert(number);
                set.insert(number);
            }
            let ranks = set.rank(&memory).expect("there is memory");
            assert_eq!(ranks.count() as usize, numbers.len());
            for number in 0..1000 {
                assert_eq!(ranks.contains(number), numbers.contains(&number));
                let rank = numbers.range(..number).count();
                assert_eq!(ranks.rank(number) as usize, rank);
                let found = numbers.contains(&number).then_some(rank as u32);
                assert_eq!(ranks.find(number), found);
                assert!(ranks.below(number).eq(numbers.range(..number).rev().copied()));
            }
        }
    }

    #[test]
    fn tables_of_another_length_are_refused() {
        let memory = Memory::unlimited();
        let table = |last: u64| {
            let mut words = memory.table::<u64>(2).expect("there is memory");
            words[1] = last;
            words
        };
        let before = |length| memory.table::<u32>(length).expect("there is memory");
        let set = |last, length| Ranks::from_tables(table(last), before(2), length);
        assert_eq!(set(3, 66).map(|set| set.count()), Some(2));
        assert_eq!(set(u64::MAX, 128).map(|set| set.count()), Some(64));
        assert!(set(4, 66).is_none() && set(0, 64).is_none() && set(0, 129).is_none());
        assert!(Ranks::from_tables(table(3), before(1), 66).is_none());
    }
}
