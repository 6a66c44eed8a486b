//! Maps ids to numbers: objects are numbered in the order of their ids, from 0.

use std::io::{self, Write};

use foldhash::HashMap;

use crate::data::id_pages::{Directory, PAGE_BITS, SavedBitmap, WORDS, id_at, place};
use crate::data::numbers::ObjectNumber;
use crate::data::sections::{SectionReader, SectionWriter};
use hprof_format::ObjectId;

/// The number of objects must stay below this, so that one number stays free for "none" and one for the root above all
/// roots.
pub(crate) const MAX_OBJECTS: u64 = u32::MAX as u64 - 1;
/// The words of a page: each has two of those of an index.
const PAGE: usize = WORDS / 2;
/// The size of a page, in bytes.
const PAGE_BYTES: u64 = (PAGE * size_of::<Word>()) as u64;
/// A bitmap of up to this many bytes is never considered too large.
const SMALL_BITMAP: u64 = 16 << 20;
/// A bitmap that takes more bytes than this per id is given up.
const MOST_BYTES_AN_ID: u64 = 64;
/// 128 granules: a bit for each that is an object's id, and the number of ids before them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
struct Word {
    bits: u128,
    before: u32,
}

impl Word {
    /// Returns its bits as an index has them.
    fn halves(self) -> [u64; 2] {
        let bits = self.bits;
        [bits as u64, (bits >> u64::BITS) as u64]
    }
}

/// The ids of a dump while they are collected.
///
/// If objects are close together, as in a heap, an id costs one and a quarter bits for every granule of 8 bytes. Otherwise ids are
/// kept as a list, so memory stays proportional to their number.
#[derive(Debug)]
pub(crate) struct IdSet {
    /// Ids are multiples of 2^shift.
    shift: u32,
    pages: HashMap<u64, u32>,
    words: Vec<Word>,
    last: Option<(u64, u32)>,
    count: u64,
    /// Used instead of all of the above, if `Some`.
    list: Option<Vec<u64>>,
}

impl Default for IdSet {
    fn default() -> IdSet {
        IdSet::new()
    }
}

impl IdSet {
    pub(crate) fn new() -> IdSet {
        IdSet {
            shift: 3,
            pages: HashMap::default(),
            words: Vec::new(),
            last: None,
            count: 0,
            list: None,
        }
    }

    /// Adds an id. Adding one twice is allowed.
    #[inline]
    pub(crate) fn insert(&mut self, id: u64) {
        if let Some(list) = &mut self.list {
            list.push(id);
            return;
        }
        if id & ((1 << self.shift) - 1) != 0 {
            self.refine(id.trailing_zeros());
        }
        let granule = id >> self.shift;
        let Some(page) = self.page(granule >> PAGE_BITS) else {
            self.insert_into_list(id);
            return;
        };
        let word = &mut self.words[page as usize * PAGE + (granule >> 7) as usize % PAGE];
        let bit = 1 << (granule & 127);
        self.count += u64::from(word.bits & bit == 0);
        word.bits |= bit;
    }

    /// Returns the page's index; `None` if there would be too many pages.
    #[inline]
    fn page(&mut self, key: u64) -> Option<u32> {
        match self.last {
            Some((last, page)) if last == key => Some(page),
            _ => self.other_page(key),
        }
    }

    fn other_page(&mut self, key: u64) -> Option<u32> {
        let next = self.pages.len() as u32;
        let bytes = u64::from(next) * PAGE_BYTES;
        let is_sparse = bytes > (MOST_BYTES_AN_ID * self.count).max(SMALL_BITMAP);
        let page = *self.pages.entry(key).or_insert(next);
        if page == next {
            if is_sparse {
                self.pages.remove(&key);
                return None;
            }
            self.words.resize(self.words.len() + PAGE, Word::default());
        }
        self.last = Some((key, page));
        Some(page)
    }

    /// Gives up the bitmap, because the ids are too far apart for it.
    fn insert_into_list(&mut self, id: u64) {
        let mut list = self.drain();
        list.push(id);
        *self = IdSet {
            list: Some(list),
            ..IdSet::new()
        };
    }

    /// Starts again with smaller granules.
    fn refine(&mut self, shift: u32) {
        let known = self.drain();
        *self = IdSet {
            shift,
            ..IdSet::new()
        };
        for id in known {
            self.insert(id);
        }
    }

    fn drain(&mut self) -> Vec<u64> {
        let mut ids = Vec::with_capacity(self.count as usize);
        for (&key, &page) in &self.pages {
            ids.extend(self.ids_of(key, page));
        }
        ids
    }

    /// Iterates over the ids of a page.
    fn ids_of(&self, key: u64, page: u32) -> impl Iterator<Item = u64> {
        let words = &self.words[page as usize * PAGE..][..PAGE];
        words.iter().enumerate().flat_map(move |(index, word)| {
            let granule = (key << PAGE_BITS) + (index as u64) * 128;
            let some = |bits: u128| Some(bits).filter(|&bits| bits != 0);
            let bits = std::iter::successors(some(word.bits), move |&bits| some(bits & (bits - 1)));
            bits.map(move |bits| (granule + u64::from(bits.trailing_zeros())) << self.shift)
        })
    }

    /// Adds the ids of another set.
    pub(crate) fn add_all(&mut self, mut other: IdSet) {
        let alike = self.list.is_none() && other.list.is_none() && self.shift == other.shift;
        if !alike {
            for id in other.list.take().unwrap_or_else(|| other.drain()) {
                self.insert(id);
            }
            return;
        }
        for (&key, &page) in &other.pages {
            let theirs = &other.words[page as usize * PAGE..][..PAGE];
            let own = match self.list {
                None => self.page(key),
                Some(_) => None,
            };
            if let Some(page) = own {
                let mine = &mut self.words[page as usize * PAGE..][..PAGE];
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    self.count += u64::from((theirs.bits & !mine.bits).count_ones());
                    mine.bits |= theirs.bits;
                }
                continue;
            }
            for id in other.ids_of(key, page) {
                self.insert(id);
            }
        }
    }

    /// Returns the number of ids; too large if some were added twice.
    pub(crate) fn count(&self) -> u64 {
        match &self.list {
            Some(list) => list.len() as u64,
            None => self.count,
        }
    }

    /// Assigns numbers. There must be no more than 2^32 - 2 ids.
    pub(crate) fn number(self) -> Ids {
        if let Some(mut list) = self.list {
            list.sort_unstable();
            list.dedup();
            list.shrink_to_fit();
            return Ids::List(list);
        }
        let mut keys: Vec<(u64, u32)> = self.pages.into_iter().collect();
        keys.sort_unstable();
        let mut words = self.words;
        let mut before = 0;
        for &(_, page) in &keys {
            let start = page as usize * PAGE;
            for word in &mut words[start..start + PAGE] {
                let bits = word.bits;
                word.before = before;
                before += bits.count_ones();
            }
        }
        let directory = Directory::of(&keys);
        Ids::Bitmap(Bitmap {
            shift: self.shift,
            directory,
            keys,
            words,
            count: before,
        })
    }
}

/// Ids and their numbers.
#[derive(Debug)]
pub(crate) enum Ids {
    Bitmap(Bitmap),
    /// Those of an index, of which only what is needed is read.
    Saved(SavedBitmap),
    /// Sorted: an id's number is its index.
    List(Vec<u64>),
}

#[derive(Debug)]
pub(crate) struct Bitmap {
    shift: u32,
    directory: Directory,
    /// The index in `words` of each page, sorted by page.
    keys: Vec<(u64, u32)>,
    words: Vec<Word>,
    count: u32,
}

impl Ids {
    pub(crate) fn count(&self) -> u32 {
        match self {
            Ids::Bitmap(bitmap) => bitmap.count,
            Ids::Saved(bitmap) => bitmap.count(),
            Ids::List(list) => list.len() as u32,
        }
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        match self {
            Ids::Bitmap(bitmap) => {
                let keys: Vec<u64> = bitmap.keys.iter().map(|&(key, _)| key).collect();
                let pages = || bitmap.keys.iter().map(|&(_, page)| bitmap.page(page));
                let words = pages().flatten().flat_map(|word| word.halves());
                let before = pages().map(|words| words[0].before);
                let before = before.chain([bitmap.count]);
                out.table(&[u64::from(bitmap.shift)])?;
                out.table(&keys)?;
                out.table(&words.collect::<Vec<u64>>())?;
                out.table(&before.collect::<Vec<u32>>())
            }
            Ids::Saved(bitmap) => {
                out.table(&[u64::from(bitmap.shift)])?;
                out.table(&bitmap.keys)?;
                out.table(&bitmap.bits)?;
                out.table(&bitmap.before)
            }
            Ids::List(list) => {
                out.table(&[u64::from(u64::BITS)])?;
                out.table(list)
            }
        }
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Ids> {
        let shift = u32::try_from(index.one::<u64>()?).ok()?;
        let keys: Vec<u64> = index.list()?;
        if !keys.is_sorted_by(|one, next| one < next) {
            return None;
        }
        let most = MAX_OBJECTS as usize;
        if shift >= u64::BITS {
            return (keys.len() < most).then_some(Ids::List(keys));
        }
        let bits = index.table::<u64>()?;
        let before: Vec<u32> = index.list()?;
        let count = before.last().copied().map(u64::from)?;
        let is_sound = keys.iter().all(|key| key >> (u64::BITS - PAGE_BITS) == 0)
            && bits.len() == keys.len().checked_mul(WORDS)?
            && before.len() == keys.len() + 1
            && before[0] == 0
            && before.is_sorted()
            && count < MAX_OBJECTS;
        let pages: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
        is_sound.then(|| {
            Ids::Saved(SavedBitmap {
                shift,
                directory: Directory::of(&pages),
                keys,
                bits,
                before,
            })
        })
    }

    /// Returns the number of an object, if the dump has it.
    #[inline]
    pub(crate) fn find(&self, ObjectId(id): ObjectId) -> Option<ObjectNumber> {
        let number = match self {
            Ids::Bitmap(bitmap) => bitmap.find(id),
            Ids::Saved(bitmap) => bitmap.find(id),
            Ids::List(list) => return list.binary_search(&id).ok().map(ObjectNumber::at),
        };
        number.map(ObjectNumber)
    }

    /// Returns the id of an object.
    pub(crate) fn id(&self, number: ObjectNumber) -> ObjectId {
        ObjectId(match self {
            Ids::Bitmap(bitmap) => bitmap.id(number.0),
            Ids::Saved(bitmap) => bitmap.id(number.0),
            Ids::List(list) => list[number.place()],
        })
    }
}

impl Bitmap {
    fn page(&self, page: u32) -> &[Word] {
        &self.words[page as usize * PAGE..][..PAGE]
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        let (page, half, bit) = place(id, self.shift, &self.directory)?;
        let Word { bits, before } = self.words[page * PAGE + half / 2];
        let bit = u128::from(bit) << (64 * (half % 2));
        if bits & bit == 0 {
            return None;
        }
        Some(before + (bits & (bit - 1)).count_ones())
    }

    fn id(&self, number: u32) -> u64 {
        let start = |&(_, page): &(u64, u32)| self.words[page as usize * PAGE].before;
        let place = self.keys.partition_point(|key| start(key) <= number) - 1;
        let (key, page) = self.keys[place];
        let words = self.page(page);
        let index = words.partition_point(|word| word.before <= number) - 1;
        let (word, [low, high]) = (words[index], words[index].halves());
        let place = number - word.before;
        match place.checked_sub(low.count_ones()) {
            Some(place) => id_at(key, 2 * index + 1, high, place, self.shift),
            None => id_at(key, 2 * index, low, place, self.shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn assert_numbered(ids: &[u64]) {
        let mut set = IdSet::new();
        for &id in ids {
            set.insert(id);
        }
        let numbers = set.number();
        let sorted: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(numbers.count() as usize, sorted.len());
        for (number, &id) in sorted.iter().enumerate() {
            assert_eq!(
                numbers.find(ObjectId(id)),
                Some(ObjectNumber::at(number)),
                "{id:x}"
            );
            assert_eq!(numbers.id(ObjectNumber::at(number)), ObjectId(id));
            for other in [id ^ 1, id ^ 8, id ^ (1 << 40)] {
                assert_eq!(
                    numbers.find(ObjectId(other)).is_some(),
                    sorted.contains(&other)
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_id_has_its_rank_as_number(
            base in any::<u64>(),
            spread in 0..64u32,
            steps in proptest::collection::vec(any::<u64>(), 1..200),
        ) {
            let ids: Vec<u64> = steps
                .iter()
                .map(|step| base.wrapping_add(step.checked_shr(spread).unwrap_or(0)))
                .collect();
            assert_numbered(&ids);
            let aligned: Vec<u64> = ids.iter().map(|id| id & !7).collect();
            assert_numbered(&aligned);
        }
    }

    proptest! {
        #[test]
        fn two_sets_added_are_one(
            bases in any::<(u64, u64)>(),
            spreads in (0..64u32, 0..64u32),
            steps in (proptest::collection::vec(any::<u64>(), 0..80), proptest::collection::vec(any::<u64>(), 0..80)),
            aligned in any::<(bool, bool)>(),
        ) {
            let ids = |base: u64, spread: u32, steps: &[u64], aligned: bool| -> Vec<u64> {
                let ids = steps.iter().map(|step| base.wrapping_add(step.checked_shr(spread).unwrap_or(0)));
                ids.map(|id| if aligned { id & !7 } else { id }).collect()
            };
            let one = ids(bases.0, spreads.0, &steps.0, aligned.0);
            let other = ids(bases.0 ^ (bases.1 >> spreads.1), spreads.1, &steps.1, aligned.1);
            let set = |ids: &[u64]| {
                let mut set = IdSet::new();
                ids.iter().for_each(|&id| set.insert(id));
                set
            };
            let mut both = set(&one);
            both.add_all(set(&other));
            let numbers = both.number();
            let sorted: BTreeSet<u64> = one.iter().chain(&other).copied().collect();
            assert_eq!(numbers.count() as usize, sorted.len());
            for (number, &id) in sorted.iter().enumerate() {
                assert_eq!(numbers.find(ObjectId(id)), Some(ObjectNumber::at(number)), "{id:x}");
            }
        }
    }

    #[test]
    fn sets_too_far_apart_for_a_bitmap_are_added_too() {
        let (mut one, mut other) = (IdSet::new(), IdSet::new());
        for id in 0..100_000_u64 {
            one.insert(id * 8);
            other.insert(id << 24);
        }
        one.add_all(other);
        let ids = one.number();
        assert_eq!(
            ids.find(ObjectId(99_999 << 24)),
            Some(ObjectNumber(ids.count() - 1))
        );
        assert_eq!(ids.count(), 199_999);
    }

    #[test]
    fn ids_far_apart_cost_in_proportion_to_their_number() {
        let mut set = IdSet::new();
        for id in 0..100_000_u64 {
            set.insert(id << 24);
        }
        assert!(set.list.is_some());
        let ids = set.number();
        assert_eq!(ids.find(ObjectId(99_999 << 24)), Some(ObjectNumber(99_999)));
        assert_eq!(ids.find(ObjectId(8)), None);
    }
}
