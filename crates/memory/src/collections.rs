//! Collections that grow only if the system has the memory. Each way to grow returns [`OutOfMemory`], and nobody has to count
//! bytes: in crates that keep to them, `clippy.toml` refuses those of the standard library.
//!
//! Reading is that of what is inside, by `Deref`.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{OutOfMemory, claim, stop};

/// What becomes of work that cannot continue without the memory.
pub trait OrStop {
    /// What there is with the memory.
    type Value;

    /// Returns the value. Without it, marks memory as out and unwinds like a panic, up to the place that catches these; must
    /// not be called where unwinding would leave a VM callback.
    fn or_stop(self) -> Self::Value;
}

impl<T> OrStop for Result<T, OutOfMemory> {
    type Value = T;

    #[inline]
    fn or_stop(self) -> T {
        self.unwrap_or_else(|OutOfMemory| stop())
    }
}

/// As [`claim`], for what grows on its own. A thread that is already unwinding and cleaning up must not unwind again: it
/// gets the reserve.
#[inline]
pub fn claim_to_grow(bytes: usize) -> Result<(), OutOfMemory> {
    claim(bytes).or_else(|refused| match std::thread::panicking() {
        true => Ok(()),
        false => Err(refused),
    })
}

/// A list: a `Vec` that grows fallibly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes a list of items.
    pub fn collect(items: impl IntoIterator<Item = T>) -> Result<Self, OutOfMemory> {
        let mut list = Self::new();
        list.extend(items)?;
        Ok(list)
    }

    /// Creates an empty list with room for so many items.
    pub fn with_capacity(capacity: usize) -> Result<Self, OutOfMemory> {
        claim_to_grow(capacity.saturating_mul(size_of::<T>()))?;
        Ok(Self(Vec::with_capacity(capacity)))
    }

    /// Makes a list of so many copies of an item.
    pub fn repeated(item: T, length: usize) -> Result<Self, OutOfMemory>
    where
        T: Clone,
    {
        claim_to_grow(length.saturating_mul(size_of::<T>()))?;
        Ok(Self(vec![item; length]))
    }

    /// Makes room for so many more items.
    pub fn reserve(&mut self, more: usize) -> Result<(), OutOfMemory> {
        let wanted = self.0.len().saturating_add(more);
        if wanted > self.0.capacity() {
            claim_for_list(wanted, self.0.capacity(), size_of::<T>())?;
            self.0.reserve(more);
        }
        Ok(())
    }

    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), OutOfMemory> {
        if self.0.len() == self.0.capacity() {
            self.reserve(1)?;
        }
        self.0.push(item);
        Ok(())
    }

    /// Adds items at the end.
    pub fn extend_from_slice(&mut self, items: &[T]) -> Result<(), OutOfMemory>
    where
        T: Clone,
    {
        self.reserve(items.len())?;
        self.0.extend_from_slice(items);
        Ok(())
    }

    /// Adds items at the end.
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) -> Result<(), OutOfMemory> {
        let items = items.into_iter();
        self.reserve(items.size_hint().0)?;
        for item in items {
            self.push(item)?;
        }
        Ok(())
    }

    /// Makes the list so long, with copies of `item` at the end.
    pub fn resize(&mut self, length: usize, item: T) -> Result<(), OutOfMemory>
    where
        T: Clone,
    {
        self.reserve(length.saturating_sub(self.0.len()))?;
        self.0.resize(length, item);
        Ok(())
    }

    /// Removes the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Keeps what the function returns `true` for.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    /// Removes so many items from the front, and returns them.
    pub fn take_first(&mut self, count: usize) -> Vec<T> {
        self.0.drain(..count).collect()
    }

    /// Removes all but the first of consecutive items that the function returns `true` for.
    pub fn dedup_by(&mut self, is_same: impl FnMut(&mut T, &mut T) -> bool) {
        self.0.dedup_by(is_same);
    }

    /// Returns the number of items that the list has room for.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Gives back what is not used.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Gives back what is not used, except for so many items.
    pub fn shrink_to(&mut self, capacity: usize) {
        self.0.shrink_to(capacity);
    }

    /// Returns the items in a `Vec`, for those who do not add to it.
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }

    /// Returns the items in a block that does not grow.
    pub fn into_boxed_slice(self) -> Box<[T]> {
        self.0.into_boxed_slice()
    }

    /// Keeps the first items.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'list, T> IntoIterator for &'list List<T> {
    type Item = &'list T;
    type IntoIter = std::slice::Iter<'list, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for List<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.0 == other
    }
}

/// Claims the memory of a list that must have `wanted` entries.
#[cold]
fn claim_for_list(wanted: usize, capacity: usize, entry: usize) -> Result<(), OutOfMemory> {
    let grown = wanted.max(capacity.saturating_mul(2));
    claim_to_grow(grown.saturating_mul(entry))
}

/// Claims the memory of a full hash table's next size: it keeps some slots free and has a byte for each.
#[cold]
fn claim_for_table(capacity: usize, entry: usize) -> Result<(), OutOfMemory> {
    claim_to_grow(capacity.saturating_mul(3).saturating_mul(entry + 1))
}

/// A map: a `HashMap` that grows fallibly.
#[derive(Clone, Debug)]
pub struct Map<K, V, S = FixedState>(HashMap<K, V, S>);

impl<K: Eq + Hash, V, S: BuildHasher> Map<K, V, S> {
    /// Makes a map of keys with values.
    pub fn collect(items: impl IntoIterator<Item = (K, V)>) -> Result<Self, OutOfMemory>
    where
        S: Default,
    {
        let mut map = Self::default();
        map.extend(items)?;
        Ok(map)
    }

    /// Returns a copy.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory>
    where
        Self: Clone,
    {
        claim_to_grow(self.0.capacity().saturating_mul(size_of::<(K, V)>() + 1))?;
        Ok(self.clone())
    }

    /// Makes sure of the memory for one more key.
    #[inline]
    pub fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if self.0.len() < self.0.capacity() {
            return Ok(());
        }
        claim_for_table(self.0.capacity(), size_of::<(K, V)>())
    }

    /// Sets the value of a key; returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, OutOfMemory> {
        self.make_room()?;
        Ok(self.0.insert(key, value))
    }

    /// Returns the value of a key, which `make` makes if it has none.
    pub fn get_or_insert_with(
        &mut self,
        key: K,
        make: impl FnOnce() -> V,
    ) -> Result<&mut V, OutOfMemory> {
        self.make_room()?;
        Ok(self.0.entry(key).or_insert_with(make))
    }

    /// Returns the value of a key, which is the default if it has none.
    #[inline]
    pub fn get_or_default(&mut self, key: K) -> Result<&mut V, OutOfMemory>
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// Sets the values of keys.
    pub fn extend(&mut self, items: impl IntoIterator<Item = (K, V)>) -> Result<(), OutOfMemory> {
        for (key, value) in items {
            self.insert(key, value)?;
        }
        Ok(())
    }

    /// Returns the value of a key.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    /// Iterates over the values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.values_mut()
    }

    /// Gives back what is not used.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Removes all keys, and iterates over them.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, V)> + '_ {
        self.0.drain()
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    /// Keeps what the function returns `true` for.
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain(keep);
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K, V, S: Default> Default for Map<K, V, S> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K, V, S> Deref for Map<K, V, S> {
    type Target = HashMap<K, V, S>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K, V, S> IntoIterator for Map<K, V, S> {
    type Item = (K, V);
    type IntoIter = std::collections::hash_map::IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'map, K, V, S> IntoIterator for &'map Map<K, V, S> {
    type Item = (&'map K, &'map V);
    type IntoIter = std::collections::hash_map::Iter<'map, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// A set: a `HashSet` that grows fallibly.
#[derive(Clone, Debug)]
pub struct Set<T, S = FixedState>(HashSet<T, S>);

impl<T: Eq + Hash, S: BuildHasher + Default> Set<T, S> {
    /// Makes a set of items.
    pub fn collect(items: impl IntoIterator<Item = T>) -> Result<Self, OutOfMemory> {
        let mut set = Self::default();
        for item in items {
            set.insert(item)?;
        }
        Ok(set)
    }

    /// Adds an item; returns `true` if it is new.
    pub fn insert(&mut self, item: T) -> Result<bool, OutOfMemory> {
        if self.0.len() >= self.0.capacity() {
            claim_for_table(self.0.capacity(), size_of::<T>())?;
        }
        Ok(self.0.insert(item))
    }

    /// Removes an item; returns `true` if it was in the set.
    pub fn remove(&mut self, item: &T) -> bool {
        self.0.remove(item)
    }
}

impl<T, S: Default> Default for Set<T, S> {
    fn default() -> Self {
        Self(HashSet::default())
    }
}

impl<T, S> Deref for Set<T, S> {
    type Target = HashSet<T, S>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T, S> IntoIterator for Set<T, S> {
    type Item = T;
    type IntoIter = std::collections::hash_set::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A set of items that are found by something else than they are: a `HashTable` that grows fallibly.
#[derive(Debug)]
pub struct Table<T>(HashTable<T>);

impl<T> Table<T> {
    /// Makes room for so many more items.
    pub fn reserve(&mut self, more: usize, hash: impl Fn(&T) -> u64) -> Result<(), OutOfMemory> {
        let room = self.0.capacity() - self.0.len();
        if room < more {
            let wanted = self.0.capacity().saturating_add(more.saturating_mul(2));
            claim_to_grow(wanted.saturating_mul(size_of::<T>() + 1))?;
            self.0.reserve(more, hash);
        }
        Ok(())
    }

    /// Adds what `make` makes, which must not be in the table: there is room for it before it is made.
    pub fn insert_unique(
        &mut self,
        hash_of_new: u64,
        make: impl FnOnce() -> Result<T, OutOfMemory>,
        hash: impl Fn(&T) -> u64,
    ) -> Result<&T, OutOfMemory> {
        if self.0.len() >= self.0.capacity() {
            claim_for_table(self.0.capacity(), size_of::<T>())?;
        }
        let item = make()?;
        Ok(self.0.insert_unique(hash_of_new, item, hash).into_mut())
    }

    /// Removes the items that the function returns `true` for, and iterates over them.
    pub fn extract_if(&mut self, is_wanted: impl FnMut(&mut T) -> bool) -> impl Iterator<Item = T> {
        self.0.extract_if(is_wanted)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(HashTable::new())
    }
}

impl<T> Deref for Table<T> {
    type Target = HashTable<T>;

    #[inline]
    fn deref(&self) -> &HashTable<T> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any machine has.
    const TOO_MUCH: usize = 1 << 60;

    #[test]
    fn a_list_is_refused_what_the_system_has_not() {
        let mut list = List::collect([1_u8, 2]).expect("little");
        assert_eq!(list.reserve(TOO_MUCH), Err(OutOfMemory));
        assert_eq!(list.resize(TOO_MUCH, 0), Err(OutOfMemory));
        assert_eq!(list.push(3), Ok(()));
        assert_eq!(list.extend_from_slice(&[4, 5]), Ok(()));
        assert_eq!(list, [1, 2, 3, 4, 5], "what it had, and what fits");
        assert_eq!(List::collect(0..TOO_MUCH).err(), Some(OutOfMemory));
        list.truncate(1);
        assert_eq!(list.into_iter().sum::<u8>(), 1);
        assert_eq!(List::<u8>::with_capacity(TOO_MUCH), Err(OutOfMemory));
        assert_eq!(List::repeated(7_u8, TOO_MUCH), Err(OutOfMemory));
        assert_eq!(List::repeated(7_u8, 2).expect("little"), [7, 7]);
        let room = List::<u8>::with_capacity(9).map(|list| (list.len(), list.capacity() >= 9));
        assert_eq!(room, Ok((0, true)));
    }

    #[test]
    fn a_table_is_refused_what_the_system_has_not() {
        let mut table = Table::<u64>::default();
        let itself = |item: &u64| *item;
        assert_eq!(table.reserve(TOO_MUCH, itself), Err(OutOfMemory));
        assert_eq!(table.insert_unique(7, || Ok(7), itself), Ok(&7));
        let refused = table.insert_unique(8, || Err(OutOfMemory), itself);
        assert_eq!(refused, Err(OutOfMemory));
        assert_eq!(table.find(7, |&item| item == 7), Some(&7));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_map_finds_what_it_has() {
        let mut map = Map::<u32, &str>::default();
        assert_eq!(map.insert(1, "one"), Ok(None));
        assert_eq!(map.insert(1, "eins"), Ok(Some("one")));
        let made = map.get_or_insert_with(2, || "two");
        assert_eq!(made.copied(), Ok("two"));
        assert_eq!((map.get(&1), map.len()), (Some(&"eins"), 2));
        map.retain(|&key, _| key > 1);
        let copy = map.try_clone().expect("little");
        assert_eq!(map.remove(&2), Some("two"));
        assert!(map.is_empty());
        assert_eq!(copy.into_iter().collect::<Vec<_>>(), [(2, "two")]);
    }

    #[test]
    fn a_full_table_is_refused_what_the_system_has_not() {
        assert_eq!(claim_for_table(TOO_MUCH, 1), Err(OutOfMemory));
        assert_eq!(claim_for_table(0, 64), Ok(()));
        let mut set = Set::<u32>::collect([1, 2, 1]).expect("little");
        assert_eq!(set.len(), 2);
        assert_eq!((set.insert(2), set.insert(3)), (Ok(false), Ok(true)));
        assert!(set.remove(&1) && !set.remove(&1));
        let mut left: Vec<u32> = set.into_iter().collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3]);
    }
}
