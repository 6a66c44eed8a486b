//! Maps of the serial numbers in a file.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A map of what comes from a file.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;

/// A map from numbers that are mostly consecutive.
pub(crate) struct Dense<V> {
    first: u64,
    near: Vec<Option<V>>,
    far: Map<u64, V>,
}

/// The greatest distance of a number from the last one for which it is stored next to it.
const GAP: usize = 1 << 16;

impl<V> Default for Dense<V> {
    fn default() -> Self {
        Dense {
            first: 0,
            near: Vec::new(),
            far: Map::default(),
        }
    }
}

impl<V: Copy> Dense<V> {
    pub(crate) fn insert(&mut self, key: u64, value: V) {
        if self.near.is_empty() {
            self.first = key;
        }
        match self.near_index(key) {
            Some(index) if index < self.near.len() => self.near[index] = Some(value),
            Some(index) if index < self.near.len() + GAP => {
                self.near.resize(index, None);
                self.near.push(Some(value));
            }
            _ => {
                self.far.insert(key, value);
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<V> {
        let near = self.near_index(key).and_then(|index| self.near.get(index));
        match near {
            Some(Some(value)) => Some(*value),
            _ if self.far.is_empty() => None,
            _ => self.far.get(&key).copied(),
        }
    }

    fn near_index(&self, key: u64) -> Option<usize> {
        key.checked_sub(self.first)
            .and_then(|index| index.try_into().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_near_and_far() {
        let mut map = Dense::default();
        for key in [500_000, 500_001, 500_100, 7, u64::MAX, 600_000] {
            map.insert(key, key);
        }
        map.insert(7, 8);
        for key in [500_000, 500_001, 500_100, u64::MAX, 600_000] {
            assert_eq!(map.get(key), Some(key));
        }
        assert_eq!(map.get(7), Some(8));
        assert_eq!(map.get(500_002), None);
    }
}
