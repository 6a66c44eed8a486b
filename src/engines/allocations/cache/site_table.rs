//! Sites by the stacks and classes that allocate, for one thread. Nearly every allocation looks here once, and most of
//! the time for that is spent waiting for memory: so an entry has only 16 bytes, and is found without another table.

use super::super::sites::SiteId;
use super::known_classes::ClassIndex;
use jvmti::prefetch;
use memory::{List, OrStop};
use stacks::FramesMark;

/// The fewest slots of a non-empty table; a power of two.
const FIRST: usize = 64;

/// The table. Several entries may have the same key, for different classes.
#[derive(Default)]
pub(super) struct SiteTable {
    /// Each entry is at the slot that its key determines, or after it with no empty slot between.
    slots: List<Option<CachedSite>>,
    /// The mark of the frames for the entry at the same slot.
    frames: List<FramesMark>,
    len: usize,
}

#[derive(Clone, Copy)]
struct CachedSite {
    /// A hash: its bits are as good as random.
    key: u64,
    site: SiteId,
    class: ClassIndex,
}

const _: () = assert!(size_of::<Option<CachedSite>>() == 16);

/// The position of an entry, valid until the next one is added.
#[derive(Clone, Copy)]
pub(super) struct SitePlace {
    pub(super) site: SiteId,
    slot: usize,
}

/// The result of looking up a class.
pub(super) enum FoundSite {
    Site(SitePlace),
    /// The class has no entry under the key.
    Nothing,
    /// The class is not among the first of many entries under the key.
    TooMany,
}

impl SiteTable {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Prefetches the memory for a key that is about to be looked up.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        if let Some(entry) = self.places(key).next().map(|slot| &self.slots[slot]) {
            prefetch(entry);
        }
    }

    /// Returns the site of the class that `is_it` accepts, if it is among the first `most` entries of a key.
    #[inline]
    pub(super) fn find(
        &self,
        key: u64,
        most: usize,
        is_it: impl Fn(ClassIndex) -> bool,
    ) -> FoundSite {
        if most == 0 {
            return FoundSite::TooMany;
        }
        let mut seen = 0;
        for slot in self.places(key) {
            let Some(entry) = self.slots[slot] else {
                break;
            };
            if entry.key != key {
                continue;
            }
            if is_it(entry.class) {
                return FoundSite::Site(SitePlace {
                    site: entry.site,
                    slot,
                });
            }
            seen += 1;
            if seen == most {
                return FoundSite::TooMany;
            }
        }
        FoundSite::Nothing
    }

    /// Returns the mark of an entry's frames.
    pub(super) fn frames(&self, place: SitePlace) -> FramesMark {
        self.frames[place.slot]
    }

    /// Adds an entry for a class that has none under the key.
    pub(super) fn insert(&mut self, key: u64, site: SiteId, frames: FramesMark, class: ClassIndex) {
        if self.len >= self.slots.len() / 4 * 3 {
            self.grow();
        }
        self.len += 1;
        self.put(CachedSite { key, site, class }, frames);
    }

    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(FIRST);
        let slots = List::repeated(None, length).or_stop();
        let frames = List::repeated(FramesMark::default(), length).or_stop();
        let slots = std::mem::replace(&mut self.slots, slots);
        let frames = std::mem::replace(&mut self.frames, frames);
        for (entry, frames) in slots.into_iter().zip(frames) {
            if let Some(entry) = entry {
                self.put(entry, frames);
            }
        }
    }

    fn put(&mut self, entry: CachedSite, frames: FramesMark) {
        let free = self
            .places(entry.key)
            .find(|&index| self.slots[index].is_none());
        if let Some(index) = free {
            self.slots[index] = Some(entry);
            self.frames[index] = frames;
        }
    }

    /// Iterates over all slots, from the one that the key determines.
    #[inline]
    fn places(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let length = self.slots.len();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the low bits choose the slot"
        )]
        let first = key as usize;
        (0..length).map(move |step| first.wrapping_add(step) & (length - 1))
    }
}
