//! The tags of a walk, and the ids and traces they stand for.

use hprof_format::{ObjectId, TraceSerial};
use memory::{List, Map, OrStop};

use names::object::DUMPED;

/// An object's tag: its number in the dump, from 1, and for an array its length, which the VM reports only with
/// references to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u64);

const NUMBER_BITS: u32 = DUMPED.trailing_zeros();

impl Tag {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn new(number: u64, length: u32) -> Self {
        Self(u64::from(length) << NUMBER_BITS | number)
    }

    /// Returns the object's number; 0 for an object without a tag.
    pub(super) fn number(self) -> u64 {
        self.0 & (DUMPED - 1)
    }

    /// Returns the number as a position in a table.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an address has 64 bits, too"
    )]
    pub(super) fn index(self) -> usize {
        self.number() as usize
    }

    /// Returns the array's length, or 0 if it is not known yet.
    pub(super) fn length(self) -> u32 {
        // Lengths of arrays have 31 bits.
        (self.0 >> NUMBER_BITS) as u32
    }
}

/// An object with a special role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// A class, by index.
    DumpClass(usize),
    /// A primitive type's class.
    PrimitiveType,
    /// A thread, by index.
    Thread(usize),
}

/// Assigns numbers: the first ones to tracked objects, then to special ones, then to all others.
pub(super) struct Numbers {
    base: u64,
    /// The trace that allocated each tracked object.
    tracked: List<TraceSerial>,
    specials: List<(Special, ObjectId, TraceSerial)>,
    /// The tracked objects that are special: the numbers that they had, and their ids.
    renumbered: Map<u64, ObjectId>,
    /// The last number that was assigned.
    last: u64,
    /// The trace of objects whose allocation was not seen.
    unseen: TraceSerial,
}

impl Numbers {
    /// Creates the numbering. `base` is the id before the first; the tracked objects have their numbers already.
    pub(super) fn new(base: u64, tracked: List<TraceSerial>, unseen: TraceSerial) -> Self {
        Self {
            base,
            last: tracked.len() as u64,
            tracked,
            specials: List::new(),
            renumbered: Map::default(),
            unseen,
        }
    }

    /// Assigns a number to a special object, which may have been tracked under the tag `old`. `id` computes its id from
    /// the one that its number implies. May only be called before the first [`Numbers::add`].
    pub(super) fn add_special(
        &mut self,
        special: Special,
        old: Tag,
        id: impl FnOnce(ObjectId) -> ObjectId,
    ) -> Tag {
        debug_assert_eq!(
            self.last,
            (self.tracked.len() + self.specials.len()) as u64,
            "special objects come before all others"
        );
        self.last += 1;
        let own = ObjectId(self.base + self.last);
        let object = id(own);
        if self.is_tracked(old) {
            self.renumbered.insert(old.number(), object).or_stop();
        }
        let special = (special, object, self.trace(old));
        self.specials.push(special).or_stop();
        Tag::new(self.last, 0)
    }

    /// Assigns a number to an object; `None` if none is left.
    pub(super) fn add(&mut self, length: u32) -> Option<Tag> {
        if self.last + 1 >= DUMPED {
            return None;
        }
        self.last += 1;
        Some(Tag::new(self.last, length))
    }

    /// Returns the last number that was assigned.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns `true` if the tag is that of a tracked object which is not special.
    pub(super) fn is_tracked(&self, tag: Tag) -> bool {
        (1..=self.tracked.len() as u64).contains(&tag.number())
    }

    /// Returns the special role of an object.
    pub(super) fn special(&self, tag: Tag) -> Option<Special> {
        self.entry(tag).map(|&(special, ..)| special)
    }

    /// Returns an object's id in the dump.
    pub(super) fn object(&self, tag: Tag) -> ObjectId {
        match self.entry(tag) {
            Some(&(_, object, _)) => object,
            None => ObjectId(self.base + tag.number()),
        }
    }

    /// Returns the id of a tracked object, whose first tag this was.
    pub(super) fn tracked_object(&self, tag: Tag) -> ObjectId {
        let renumbered = self.renumbered.get(&tag.number());
        renumbered.copied().unwrap_or_else(|| self.object(tag))
    }

    /// Returns the trace that allocated an object.
    pub(super) fn trace(&self, tag: Tag) -> TraceSerial {
        let tracked = || {
            let index = usize::try_from(tag.number().checked_sub(1)?).ok()?;
            self.tracked.get(index)
        };
        match self.entry(tag) {
            Some(&(.., trace)) => trace,
            None => tracked().copied().unwrap_or(self.unseen),
        }
    }

    fn entry(&self, tag: Tag) -> Option<&(Special, ObjectId, TraceSerial)> {
        let index = tag.number().checked_sub(self.tracked.len() as u64 + 1)?;
        self.specials.get(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSEEN: TraceSerial = TraceSerial(300_000);

    #[test]
    fn a_tag_holds_a_number_and_a_length() {
        let tag = Tag::new(DUMPED - 1, i32::MAX as u32);
        assert_eq!((tag.number(), tag.length()), (DUMPED - 1, i32::MAX as u32));
        let tag = Tag::new(7, 0);
        assert_eq!((tag.number(), tag.length(), tag.0), (7, 0, 7));
        assert_eq!(Tag::NONE.number(), 0);
    }

    #[test]
    fn tracked_objects_keep_their_traces_and_special_ones_their_ids() {
        let tracked = List::collect([TraceSerial(300_001), TraceSerial(300_002)]);
        let tracked = tracked.expect("little");
        let mut numbers = Numbers::new(1_000, tracked, UNSEEN);
        let named = |_| ObjectId(400_007);
        let class = numbers.add_special(Special::DumpClass(0), Tag::NONE, named);
        let thread = numbers.add_special(Special::Thread(0), Tag::new(2, 0), |own| own);
        let other = numbers.add(5).expect("there are numbers left");
        assert_eq!(numbers.object(Tag::new(1, 3)), ObjectId(1_001));
        assert_eq!(numbers.trace(Tag::new(1, 3)), TraceSerial(300_001));
        assert_eq!(numbers.special(Tag::new(2, 0)), None);
        assert_eq!(numbers.object(class), ObjectId(400_007));
        assert_eq!(numbers.trace(class), UNSEEN);
        assert_eq!(numbers.special(class), Some(Special::DumpClass(0)));
        assert_eq!(numbers.object(thread), ObjectId(1_004));
        assert_eq!(numbers.trace(thread), TraceSerial(300_002));
        assert_eq!(numbers.object(other), ObjectId(1_005));
        assert_eq!((numbers.trace(other), other.length()), (UNSEEN, 5));
        let is_tracked = [Tag::NONE, Tag::new(2, 7), class, other];
        let is_tracked = is_tracked.map(|tag| numbers.is_tracked(tag));
        assert_eq!(is_tracked, [false, true, false, false]);
        assert_eq!(numbers.special(Tag::NONE), None);
        assert_eq!(numbers.trace(Tag::NONE), UNSEEN);
    }
}
