//! The sampled blocks and mappings that have not been freed, by their addresses: what a thread that frees looks up.
//!
//! Nearly all blocks that are freed have not been sampled. For them the lookup reads one byte, of how many sampled blocks have the same
//! hash. Everything here is of fixed size and in static memory, and no thread waits for another: a block that finds no
//! place is not tracked, which is counted.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// The number of words for blocks, a power of two.
const WORDS: usize = 1 << 17;
const WORDS_BITS: u32 = WORDS.trailing_zeros();
/// The words from its own on in which a block may be.
const REACH: usize = 16;
/// The counts of blocks by hash, a power of two.
const COUNTS: usize = 1 << 16;
const COUNTS_BITS: u32 = COUNTS.trailing_zeros();
/// The most mappings that are tracked at a time.
const MAPPINGS: usize = 4_096;
/// Blocks begin at multiples of this, of any allocator.
const ALIGNMENT_BITS: u32 = 3;
/// The bits of a word below the address: the sample's number, by which two blocks at one address differ.
const NUMBER_BITS: u32 = 19;

static BLOCKS: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
static BY_HASH: [AtomicU8; COUNTS] = [const { AtomicU8::new(0) }; COUNTS];
static MAPS: [Mapping; MAPPINGS] = [const { Mapping::none() }; MAPPINGS];
/// The number of places in `MAPS` that have ever been used.
static USED_MAPS: AtomicUsize = AtomicUsize::new(0);
/// The number of blocks and mappings that were ever tracked.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// What is mapped between two addresses; nothing if `number` is 0.
struct Mapping {
    number: AtomicU64,
    begin: AtomicUsize,
    end: AtomicUsize,
}

/// The place of a block or mapping that is tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackedBlock {
    place: u32,
    is_mapping: bool,
    /// The word or number that is in that place as long as the block is not freed.
    word: u64,
}

/// A block that is about to be freed, and may not be after all.
pub(super) struct Removed(TrackedBlock);

impl Mapping {
    const fn none() -> Self {
        Self {
            number: AtomicU64::new(0),
            begin: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }
}

/// Forgets everything. Called between sessions.
pub(super) fn clear() {
    for word in &BLOCKS {
        // Most have never been touched, and need no memory.
        if word.load(Ordering::Relaxed) != 0 {
            word.store(0, Ordering::Relaxed);
        }
    }
    for count in &BY_HASH {
        if count.load(Ordering::Relaxed) != 0 {
            count.store(0, Ordering::Relaxed);
        }
    }
    for map in &MAPS[..USED_MAPS.load(Ordering::Relaxed).min(MAPPINGS)] {
        map.number.store(0, Ordering::Relaxed);
    }
    USED_MAPS.store(0, Ordering::Relaxed);
}

fn hash(address: usize) -> u64 {
    (address as u64 >> ALIGNMENT_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn count_of(hash: u64) -> &'static AtomicU8 {
    &BY_HASH[(hash >> (u64::BITS - COUNTS_BITS)) as usize % COUNTS]
}

fn words_of(hash: u64) -> impl Iterator<Item = usize> {
    let first = (hash >> (u64::BITS - WORDS_BITS)) as usize;
    (first..first + REACH).map(|at| at % WORDS)
}

/// A number that is not 0.
fn next_number() -> u64 {
    NUMBER.fetch_add(1, Ordering::Relaxed) % ((1 << NUMBER_BITS) - 1) + 1
}

/// Tracks a block; `None` if there is no place for it. Called before the program gets the block.
pub(super) fn add(address: usize) -> Option<TrackedBlock> {
    let at = address as u64 >> ALIGNMENT_BITS;
    let word = at << NUMBER_BITS | next_number();
    let hash = hash(address);
    let place = words_of(hash).find(|&place| {
        let free = BLOCKS[place].compare_exchange(0, word, Ordering::Release, Ordering::Relaxed);
        free.is_ok()
    })?;
    // A full count stays: the blocks with this hash are then looked for in vain.
    let one_more = |count: u8| count.checked_add(1);
    let _ = count_of(hash).fetch_update(Ordering::Release, Ordering::Relaxed, one_more);
    Some(TrackedBlock {
        place: place as u32,
        is_mapping: false,
        word,
    })
}

/// Forgets the block at an address, if it is tracked. Called before it is freed, as its address may belong to another block
/// right after that.
#[inline(always)]
pub(super) fn remove(address: usize) -> Option<Removed> {
    let hash = hash(address);
    if count_of(hash).load(Ordering::Relaxed) == 0 {
        return None;
    }
    remove_counted(address, hash)
}

#[cold]
#[inline(never)]
fn remove_counted(address: usize, hash: u64) -> Option<Removed> {
    let at = address as u64 >> ALIGNMENT_BITS;
    for place in words_of(hash) {
        let word = BLOCKS[place].load(Ordering::Acquire);
        if word >> NUMBER_BITS != at {
            continue;
        }
        let taken = BLOCKS[place].compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            let one_less = |count: u8| (count < u8::MAX).then(|| count.saturating_sub(1));
            let _ = count_of(hash).fetch_update(Ordering::Release, Ordering::Relaxed, one_less);
            return Some(Removed(TrackedBlock {
                place: place as u32,
                is_mapping: false,
                word,
            }));
        }
    }
    None
}

impl Removed {
    /// Tracks the block again: it was not freed.
    pub(super) fn put_back(self) {
        let TrackedBlock { place, word, .. } = self.0;
        let address = (word >> NUMBER_BITS << ALIGNMENT_BITS) as usize;
        let place = &BLOCKS[place as usize % WORDS];
        let back = place.compare_exchange(0, word, Ordering::Release, Ordering::Relaxed);
        if back.is_ok() {
            let one_more = |count: u8| count.checked_add(1);
            let count = count_of(hash(address));
            let _ = count.fetch_update(Ordering::Release, Ordering::Relaxed, one_more);
        }
    }
}

/// Tracks a mapping; `None` if there is no place for it.
pub(super) fn add_mapping(begin: usize, bytes: usize) -> Option<TrackedBlock> {
    /// Stands for a place that is being filled in.
    const TAKEN: u64 = u64::MAX;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
    let place = MAPS.iter().position(|map| {
        let is_free = map.number.load(Ordering::Relaxed) == 0;
        let order = (Ordering::Acquire, Ordering::Relaxed);
        is_free
            && map
                .number
                .compare_exchange(0, TAKEN, order.0, order.1)
                .is_ok()
    })?;
    let map = &MAPS[place];
    map.begin.store(begin, Ordering::Relaxed);
    map.end
        .store(begin.saturating_add(bytes), Ordering::Relaxed);
    map.number.store(number, Ordering::Release);
    USED_MAPS.fetch_max(place + 1, Ordering::Release);
    Some(TrackedBlock {
        place: place as u32,
        is_mapping: true,
        word: number,
    })
}

/// Forgets what is mapped between two addresses. Called before it is unmapped, or replaced. Of a mapping from whose middle a
/// part is taken, only what is before that part is tracked further.
pub(super) fn remove_mapped(begin: usize, bytes: usize) {
    let end = begin.saturating_add(bytes);
    let used = USED_MAPS.load(Ordering::Acquire).min(MAPPINGS);
    for map in &MAPS[..used] {
        let number = map.number.load(Ordering::Acquire);
        if number == 0 {
            continue;
        }
        let (from, to) = (
            map.begin.load(Ordering::Relaxed),
            map.end.load(Ordering::Relaxed),
        );
        if end <= from || to <= begin {
            continue;
        }
        if begin > from {
            map.end.store(begin, Ordering::Relaxed);
        } else if end < to {
            map.begin.store(end, Ordering::Relaxed);
        } else {
            let _ = map
                .number
                .compare_exchange(number, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

impl TrackedBlock {
    /// Returns the bytes that have not been freed of the block's; a block is freed as a whole, a mapping may be in parts.
    pub fn left(self, bytes: u64) -> u64 {
        let place = self.place as usize;
        if !self.is_mapping {
            let is_there = BLOCKS[place % WORDS].load(Ordering::Acquire) == self.word;
            return if is_there { bytes } else { 0 };
        }
        let map = &MAPS[place % MAPPINGS];
        if map.number.load(Ordering::Acquire) != self.word {
            return 0;
        }
        let (from, to) = (
            map.begin.load(Ordering::Relaxed),
            map.end.load(Ordering::Relaxed),
        );
        (to.saturating_sub(from) as u64).min(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// One test: the tables are shared.
    #[test]
    fn blocks_are_tracked_until_they_are_freed() {
        let addresses = || (1..=20_000_usize).map(|number| 0x7f12_3456_0000 + number * 48);
        let blocks: Vec<TrackedBlock> = addresses().filter_map(add).collect();
        assert_eq!(blocks.len(), 20_000);
        assert!(blocks.iter().all(|block| block.left(40) == 40));
        assert!(remove(0x1000).is_none());
        assert!(remove(0x7f12_3456_0000 + 24).is_none());
        let first = remove(0x7f12_3456_0000 + 48).expect("it is tracked");
        assert_eq!(blocks[0].left(40), 0);
        first.put_back();
        assert_eq!(blocks[0].left(40), 40);
        thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || {
                    for address in addresses().skip(part).step_by(4) {
                        assert!(remove(address).is_some());
                        assert!(remove(address).is_none());
                        // Another block at the same address is another one.
                        assert!(add(address).is_some());
                    }
                });
            }
        });
        assert!(blocks.iter().all(|block| block.left(40) == 0));
        clear();
        assert!(addresses().all(|address| remove(address).is_none()));
        let many = (0..1 << 20).filter_map(|number| add(0x7f00_0000_0000 + number * 16));
        let many = many.count();
        assert!((100_000..=WORDS).contains(&many), "{many}");
        clear();

        let whole = add_mapping(0x10_0000, 0x4000).expect("room");
        assert_eq!(whole.left(0x4000), 0x4000);
        remove_mapped(0x10_0000, 0x1000);
        assert_eq!(whole.left(0x4000), 0x3000);
        remove_mapped(0x10_3000, 0x8000);
        assert_eq!(whole.left(0x4000), 0x2000);
        remove_mapped(0x0f_0000, 0x1_0000);
        remove_mapped(0x10_3000, 0x1000);
        assert_eq!(whole.left(0x4000), 0x2000, "others");
        remove_mapped(0x0f_0000, 0x10_0000);
        assert_eq!(whole.left(0x4000), 0);
        let next = add_mapping(0x10_0000, 0x4000).expect("room");
        assert_eq!((whole.left(1), next.left(0x4000)), (0, 0x4000));
        clear();
    }
}
