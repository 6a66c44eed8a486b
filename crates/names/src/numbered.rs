//! Values with numbers, which are read without a lock and never removed.

use memory::{OutOfMemory, claim_to_grow};

/// Values with their numbers, from 0 in order of arrival.
pub(super) struct Numbered<V>(
    #[expect(clippy::disallowed_types, reason = "`push` asks for the memory")] boxcar::Vec<V>,
);

impl<V> Default for Numbered<V> {
    #[expect(clippy::disallowed_types, reason = "as above")]
    fn default() -> Self {
        Self(boxcar::Vec::new())
    }
}

impl<V> Numbered<V> {
    /// Adds what `make` makes, if there is memory for it, and returns its number.
    pub(super) fn push(&self, make: impl FnOnce() -> V) -> Result<u32, OutOfMemory> {
        self.claim_for_one()?;
        let index = self.0.push(make());
        Ok(u32::try_from(index).expect("4 G values do not fit in memory"))
    }

    /// Makes sure of the memory for a push. Buckets of such a vector double in size, starting at 32 values; the next one is
    /// allocated when its predecessor is seven eighths full. Several threads may push at a time, so the check comes a few
    /// values too early rather than too late.
    fn claim_for_one(&self) -> Result<(), OutOfMemory> {
        const FIRST: usize = 32;
        const EARLY: usize = 64;
        let place = self.0.count() + FIRST;
        let bucket = 1 << place.ilog2();
        let next_is_made = bucket + bucket / 8 * 7;
        if (next_is_made - EARLY.min(bucket / 2)..=next_is_made).contains(&place) {
            // Each value has a flag next to it.
            claim_to_grow(2 * bucket * (size_of::<V>() + size_of::<usize>()))?;
        }
        Ok(())
    }

    /// Returns `true` if `push` has returned this number.
    pub(super) fn has(&self, index: u32) -> bool {
        self.0.get(index as usize).is_some()
    }

    /// Returns the value of a number that `push` returned.
    pub(super) fn get(&self, index: u32) -> &V {
        self.0
            .get(index as usize)
            .expect("every number was given for a value, which stays")
    }

    /// Returns the number of values.
    pub(super) fn count(&self) -> usize {
        self.0.count()
    }

    /// Iterates over all values with their numbers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`push` refuses an index that does not fit"
        )]
        let number = |index: usize| index as u32;
        self.0
            .iter()
            .map(move |(index, value)| (number(index), value))
    }
}
