//! A lookup by object id, for a dump that names objects in ascending order, or nearly so.

use memory::{List, OrStop};

/// Objects' ids with a number each.
pub(super) struct ObjectNumbers {
    /// Ascending.
    entries: List<(u64, u32)>,
    /// All entries before this one are below the last id looked up.
    cursor: usize,
    last: u64,
}

impl ObjectNumbers {
    /// Adds entries.
    pub(super) fn extend(&mut self, entries: impl Iterator<Item = (u64, u32)>) {
        let mut all = std::mem::take(&mut self.entries);
        all.extend(entries).or_stop();
        *self = Self::new(all);
    }

    /// Creates the table. Ids need not be in order; an object without an id (0) has died.
    pub(super) fn new(mut entries: List<(u64, u32)>) -> Self {
        entries.retain(|&(id, _)| id != 0);
        // A stable sort, because it detects the long runs that are already in order.
        entries.sort_by_key(|&(id, _)| id);
        Self {
            entries,
            cursor: 0,
            last: 0,
        }
    }

    /// Returns the number of an object, if it has one. Fast if `id` is not below the last one looked up.
    #[inline]
    pub(super) fn find(&mut self, id: u64) -> Option<u32> {
        if id < self.last {
            self.cursor = self.entries.partition_point(|&(other, _)| other < id);
        }
        self.last = id;
        while let Some(&(other, number)) = self.entries.get(self.cursor) {
            if other >= id {
                return (other == id).then_some(number);
            }
            self.cursor += 1;
        }
        None
    }

    /// As [`ObjectNumbers::find`], for ids that are looked up out of order.
    pub(super) fn find_anywhere(&self, id: u64) -> Option<u32> {
        let index = self.entries.binary_search_by_key(&id, |&(other, _)| other);
        index.ok().map(|index| self.entries[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_any_order() {
        let entries = List::collect([(40, 4), (0, 9), (10, 1), (30, 3)]);
        let mut join = ObjectNumbers::new(entries.expect("little"));
        let asked = [10, 20, 30, 40, 50, 10, 40, 30, 30, 5];
        let found = asked.map(|id| join.find(id));
        let right = [
            Some(1),
            None,
            Some(3),
            Some(4),
            None,
            Some(1),
            Some(4),
            Some(3),
            Some(3),
            None,
        ];
        assert_eq!(found, right);
        assert_eq!(asked.map(|id| join.find_anywhere(id)), right);
        join.extend([(20, 2)].into_iter());
        assert_eq!([10, 20, 30].map(|id| join.find(id)), [1, 2, 3].map(Some));
        assert_eq!(ObjectNumbers::new(List::new()).find(1), None);
    }
}
