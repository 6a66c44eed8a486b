//! The classes whose objects one thread has allocated, by address. A class is found before the stack is known, so that
//! the site's memory can be prefetched.

use std::num::NonZeroU32;
use std::sync::Arc;

use memory::{List, Map, OrStop};

use jvmti::{Collection, Jni, Object, WeakRef, WeakSlots};
use names::class::ClassId;

/// The fewest slots of a non-empty table; a power of two.
const FIRST: usize = 64;
/// An odd number whose multiples spread over all bits.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15;

/// The classes.
#[derive(Default)]
pub(super) struct KnownClasses {
    classes: List<KnownClass>,
    indices: Map<ClassId, ClassIndex>,
    by_address: AddressTable,
    /// The time between two collections for which the addresses in `by_address` are valid.
    collection: Option<Collection>,
}

/// A class that has been named.
#[derive(Clone)]
pub(super) struct KnownClass {
    pub(super) id: ClassId,
    pub(super) reference: Arc<WeakRef>,
}

/// The index of a class within its thread's, from 1, so that an `Option` takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassIndex(NonZeroU32);

impl KnownClasses {
    /// Returns the class, if it is known and no collection is under way.
    #[inline]
    pub(super) fn find(&mut self, slots: WeakSlots, class: Object<'_>) -> Option<ClassIndex> {
        let now = slots.address(class)?;
        if self.collection != Some(now.collection) {
            self.look_where_they_are(slots, now.collection);
        }
        self.by_address.get(now.address)
    }

    /// Returns the facts about a class.
    pub(super) fn get(&self, index: ClassIndex) -> &KnownClass {
        &self.classes[index.position()]
    }

    /// Returns `true` if the class at this index is `class`. Asks the VM, which takes longer.
    pub(super) fn is(&self, index: ClassIndex, jni: Jni<'_>, class: Object<'_>) -> bool {
        self.get(index).reference.is(jni, class)
    }

    /// Returns the index of a class, adding it if it is new.
    pub(super) fn add(
        &mut self,
        jni: Jni<'_>,
        slots: Option<WeakSlots>,
        class: Object<'_>,
        new: &KnownClass,
    ) -> Option<ClassIndex> {
        let known = self.indices.get(&new.id).copied();
        // The id of an unloaded class may have been reused for another one.
        if let Some(index) = known.filter(|&index| self.is(index, jni, class)) {
            // It was not at its recorded address.
            self.collection = None;
            return Some(index);
        }
        let index = ClassIndex::new(self.classes.len())?;
        self.classes.push(new.clone()).or_stop();
        self.indices.insert(new.id, index).or_stop();
        let now = slots.and_then(|slots| slots.address_of(&new.reference));
        match now.filter(|now| Some(now.collection) == self.collection) {
            Some(now) => self.by_address.insert(now.address, index),
            None => self.collection = None,
        }
        Some(index)
    }

    #[cold]
    fn look_where_they_are(&mut self, slots: WeakSlots, collection: Collection) {
        self.by_address.clear();
        self.collection = Some(collection);
        for (position, class) in self.classes.iter().enumerate() {
            let now = slots.address_of(&class.reference);
            let Some(now) = now.filter(|now| now.collection == collection) else {
                // Another collection has moved objects: the addresses are read again.
                self.collection = None;
                self.by_address.clear();
                return;
            };
            if let Some(index) = ClassIndex::new(position) {
                self.by_address.insert(now.address, index);
            }
        }
    }
}

impl ClassIndex {
    fn new(position: usize) -> Option<Self> {
        let number = u32::try_from(position + 1).ok()?;
        NonZeroU32::new(number).map(Self)
    }

    fn position(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Combines a stack's key with this class into another key.
    #[inline]
    pub(super) fn key_under(self, key: u64) -> u64 {
        key ^ u64::from(self.0.get()).wrapping_mul(SPREAD as u64)
    }
}

/// Classes by address. An entry is at the slot that its address hashes to, or after it with no empty slot between.
#[derive(Default)]
struct AddressTable {
    slots: List<(usize, Option<ClassIndex>)>,
    len: usize,
}

impl AddressTable {
    #[inline]
    fn get(&self, address: usize) -> Option<ClassIndex> {
        for slot in places(address, self.slots.len()) {
            match self.slots[slot] {
                (known, Some(class)) if known == address => return Some(class),
                (_, None) => return None,
                _ => {}
            }
        }
        None
    }

    /// Adds an address that is not in the table yet; collected classes have none, and are omitted.
    fn insert(&mut self, address: usize, class: ClassIndex) {
        if address == 0 {
            return;
        }
        if self.len >= self.slots.len() / 2 {
            let length = (2 * self.slots.len()).max(FIRST);
            let slots = List::repeated((0, None), length).or_stop();
            for (address, class) in std::mem::replace(&mut self.slots, slots) {
                if let Some(class) = class {
                    self.put(address, class);
                }
            }
        }
        self.len += 1;
        self.put(address, class);
    }

    fn put(&mut self, address: usize, class: ClassIndex) {
        let free = places(address, self.slots.len()).find(|&slot| self.slots[slot].1.is_none());
        if let Some(slot) = free {
            self.slots[slot] = (address, Some(class));
        }
    }

    fn clear(&mut self) {
        self.slots.fill((0, None));
        self.len = 0;
    }
}

/// Iterates over all slots of a table of `count` slots, a power of two, from the one that the address hashes to.
#[inline]
fn places(address: usize, count: usize) -> impl Iterator<Item = usize> {
    // Objects are aligned, so the high bits of the product differ most.
    let first = address.wrapping_mul(SPREAD) >> (usize::BITS / 2);
    (0..count).map(move |step| first.wrapping_add(step) & (count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_address_and_no_others() {
        let mut table = AddressTable::default();
        assert_eq!(table.get(8), None);
        let class = |number| ClassIndex::new(number).expect("it is small");
        for round in 1..3 {
            for number in 0..10_000 {
                table.insert(0x7_0000_0000 + number * 8 * round, class(number));
            }
            table.insert(0, class(20_000));
            for number in 0..10_000 {
                let found = table.get(0x7_0000_0000 + number * 8 * round);
                assert_eq!(found, Some(class(number)));
            }
            assert_eq!(table.get(0x7_0000_0004), None);
            assert_eq!(table.get(0), None);
            table.clear();
            assert_eq!(table.get(0x7_0000_0000), None);
        }
    }

    #[test]
    fn classes_under_one_key_have_keys_of_their_own() {
        let keys: std::collections::HashSet<u64> = (0..10_000)
            .filter_map(ClassIndex::new)
            .map(|class| class.key_under(42))
            .collect();
        assert_eq!(keys.len(), 10_000);
    }
}
