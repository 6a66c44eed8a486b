//! The pages of a bitmap of ids, and a bitmap whose pages are in an index.

use foldhash::HashMap;

use crate::data::memory::Numbers;

/// The number of granules of the address range in one page, as a power of two.
pub(crate) const PAGE_BITS: u32 = 12;
pub(crate) const WORDS: usize = 1 << (PAGE_BITS - 6);
/// A directory with up to this many entries is never considered too large.
const SMALL_DIRECTORY: u64 = 1 << 16;

/// A bitmap as an index has it, with the pages in their order.
#[derive(Debug)]
pub(crate) struct SavedBitmap {
    pub(crate) shift: u32,
    pub(crate) directory: Directory,
    pub(crate) keys: Vec<u64>,
    pub(crate) bits: Numbers<u64>,
    /// The number of ids before each page, and of all.
    pub(crate) before: Vec<u32>,
}

/// The positions of the pages' words.
#[derive(Debug)]
pub(crate) enum Directory {
    /// By the page's distance from the first one.
    Dense { first: u64, pages: Vec<u32> },
    /// For heaps with large gaps, such as ZGC's.
    Sparse(HashMap<u64, u32>),
}

/// No page.
const NONE: u32 = u32::MAX;

impl Directory {
    pub(crate) fn of(keys: &[(u64, u32)]) -> Directory {
        let first = keys.first().map_or(0, |&(key, _)| key);
        let span = keys.last().map_or(0, |&(key, _)| key - first + 1);
        if span > (keys.len() as u64 * 64).max(SMALL_DIRECTORY) {
            return Directory::Sparse(keys.iter().copied().collect());
        }
        let mut pages = vec![NONE; span as usize];
        for &(key, page) in keys {
            pages[(key - first) as usize] = page;
        }
        Directory::Dense { first, pages }
    }

    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        match self {
            Directory::Dense { first, pages } => {
                let page = *pages.get(usize::try_from(key.wrapping_sub(*first)).ok()?)?;
                (page != NONE).then_some(page)
            }
            Directory::Sparse(pages) => pages.get(&key).copied(),
        }
    }
}

/// Returns the page of an id, its word there, and its bit; `None` if there is no such page.
#[inline]
pub(crate) fn place(id: u64, shift: u32, directory: &Directory) -> Option<(usize, usize, u64)> {
    let granule = id >> shift;
    if granule << shift != id {
        return None;
    }
    let page = directory.find(granule >> PAGE_BITS)?;
    let word = (granule >> 6) as usize % WORDS;
    Some((page as usize, word, 1 << (granule & 63)))
}

/// Returns the id of the bit at a place of the bits of a word, counted from 0 among those that are set.
pub(crate) fn id_at(key: u64, word: usize, mut bits: u64, place: u32, shift: u32) -> u64 {
    for _ in 0..place {
        bits &= bits.wrapping_sub(1);
    }
    let granule = (key << PAGE_BITS) + word as u64 * 64 + u64::from(bits.trailing_zeros() % 64);
    granule << shift
}

impl SavedBitmap {
    pub(crate) fn count(&self) -> u32 {
        self.before[self.keys.len()]
    }

    fn page(&self, page: usize) -> &[u64] {
        &self.bits[page * WORDS..][..WORDS]
    }

    pub(crate) fn find(&self, id: u64) -> Option<u32> {
        let (page, word, bit) = place(id, self.shift, &self.directory)?;
        let (words, here) = self.page(page).split_at(word);
        if here[0] & bit == 0 {
            return None;
        }
        let within = words.iter().map(|bits| bits.count_ones()).sum::<u32>()
            + (here[0] & (bit - 1)).count_ones();
        // A page of a damaged index may have more than it says.
        Some(self.before[page] + within).filter(|&number| number < self.before[page + 1])
    }

    pub(crate) fn id(&self, number: u32) -> u64 {
        let page = self.before.partition_point(|&before| before <= number) - 1;
        let mut left = number - self.before[page];
        for (word, &bits) in self.page(page).iter().enumerate() {
            if left < bits.count_ones() {
                return id_at(self.keys[page], word, bits, left, self.shift);
            }
            left -= bits.count_ones();
        }
        // A page of a damaged index may have less than it says.
        0
    }
}
