//! Interns the values of the tables: each value is kept once, for the life of the table. A repeated lookup costs a
//! hash and one shard's lock, and allocates nothing.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::Equivalent;
use locks::{Mutex, rank};
use memory::{OrStop, Table};

use super::numbered::Numbered;

/// Declares the typed ids of the tables, which are indexes from 0.
macro_rules! table_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(super) u32);

        impl $name {
            /// The position in its table, from 0.
            pub fn index(self) -> u32 {
                self.0
            }
        }
    )*};
}
pub(crate) use table_ids;

/// Enough shards that two threads rarely contend for one.
const SHARDS: usize = 16;

/// A set of values, each with a number, from 0 in order of arrival. Values are never removed.
///
/// While a shard's lock is held, only the value's own `Hash` and `Eq` and the closure that makes it are called.
pub struct Interner<V> {
    hasher: FixedState,
    shards: [Mutex<Table<u32>, rank::Interner>; SHARDS],
    values: Numbered<V>,
}

impl<V> Default for Interner<V> {
    fn default() -> Self {
        Self {
            hasher: FixedState::default(),
            shards: Default::default(),
            values: Numbered::default(),
        }
    }
}

impl<V: Hash + Eq> Interner<V> {
    /// Returns the number of the value that equals `key`; calls `make` to create it if there is none. `key` must hash
    /// like the value, as `hashbrown::Equivalent` demands.
    pub fn intern<Q>(&self, key: &Q, make: impl FnOnce() -> V) -> u32
    where
        Q: Hash + Equivalent<V> + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        // The table inside a shard uses the low bits and the top seven; these are others.
        let mut shard = self.shards[(hash >> 48) as usize % SHARDS].lock();
        if let Some(&index) = shard.find(hash, |&index| key.equivalent(self.get(index))) {
            return index;
        }
        let hash_of = |&index: &u32| self.hasher.hash_one(self.get(index));
        *shard
            .insert_unique(hash, || self.values.push(make), hash_of)
            .or_stop()
    }

    /// Makes room for this many more values, so that what finds them is not rebuilt several times while they come.
    pub fn reserve(&self, values: usize) {
        let each = values / SHARDS;
        for shard in &self.shards {
            let hash_of = |&index: &u32| self.hasher.hash_one(self.get(index));
            shard.lock().reserve(each, hash_of).or_stop();
        }
    }
}

impl<V> Interner<V> {
    /// Returns `true` if `intern` has returned this number.
    pub fn contains(&self, index: u32) -> bool {
        self.values.has(index)
    }

    /// Returns the value of a number that `intern` returned.
    pub fn get(&self, index: u32) -> &V {
        self.values.get(index)
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.values.count()
    }

    /// Iterates over all values with their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        self.values.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn equal_keys_share_a_number_and_numbers_count_up() {
        let interner = Interner::<Box<str>>::default();
        let numbers: Vec<_> = ["a", "b", "a", "c", "b"]
            .iter()
            .map(|&key| interner.intern(key, || key.into()))
            .collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(&**interner.get(2), "c");
        assert_eq!(
            interner
                .iter()
                .map(|(index, value)| (index, &**value))
                .collect::<Vec<_>>(),
            [(0, "a"), (1, "b"), (2, "c")]
        );
    }

    #[test]
    fn a_repeat_makes_nothing() {
        let interner = Interner::<Box<str>>::default();
        interner.intern("a", || "a".into());
        interner.intern("a", || unreachable!("it is there"));
    }

    #[test]
    fn threads_agree_on_the_numbers() {
        // Miri takes its time.
        let (threads, keys) = if cfg!(miri) {
            (2, 100)
        } else {
            (8, 10_000_u64)
        };
        let interner = Interner::<u64>::default();
        let all: Vec<Vec<u32>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        (0..keys)
                            .map(|key| interner.intern(&key, || key))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic"))
                .collect()
        });
        assert!(all.iter().all(|numbers| numbers == &all[0]));
        let mut numbers = all[0].clone();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..keys as u32), "dense");
        assert!((0..keys).all(|key| *interner.get(all[0][key as usize]) == key));
    }
}
