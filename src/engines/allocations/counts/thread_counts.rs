//! The allocations of one thread since each of its counts began.

use std::sync::atomic::{AtomicU64, Ordering};

use memory::{Map, OrStop};

use super::super::sites::{Amount, SiteId};

/// The most counts that one thread may have begun. A program that forgets to end them would make each of its allocations
/// slower than the one before.
const MOST: usize = 64;

/// A count, for the program that ends it. No two have the same number, also in different sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct CountId(u64);

/// The amount allocated at each site.
pub(in super::super) type SiteAmounts = Map<SiteId, Amount>;

/// The counts that have begun on one thread and not ended.
#[derive(Default)]
pub(in super::super) struct ThreadCounts(Vec<(CountId, SiteAmounts)>);

impl CountId {
    pub(in super::super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns the count with this number.
    pub(in super::super) fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number, from 1.
    pub(in super::super) fn number(self) -> u64 {
        self.0
    }
}

impl ThreadCounts {
    /// Counts an object that the thread has allocated.
    #[inline]
    pub(in super::super) fn add(&mut self, site: SiteId, bytes: u64) {
        if !self.0.is_empty() {
            self.add_to_each(site, bytes);
        }
    }

    #[cold]
    fn add_to_each(&mut self, site: SiteId, bytes: u64) {
        for (_, sites) in &mut self.0 {
            let amount = sites.get_or_default(site).or_stop();
            amount.instances += 1;
            amount.bytes += bytes;
        }
    }

    /// Begins a count; returns `false` if there are too many.
    pub(in super::super) fn begin(&mut self, id: CountId) -> bool {
        let has_room = self.0.len() < MOST;
        if has_room {
            self.0.push((id, SiteAmounts::default()));
        }
        has_room
    }

    /// Returns a copy of what a count has; `None` if it did not begin on this thread.
    pub(in super::super) fn get(&self, id: CountId) -> Option<SiteAmounts> {
        let found = self.0.iter().find(|(other, _)| *other == id);
        found.map(|(_, sites)| sites.clone())
    }

    /// Ends a count and returns what it has; `None` if it did not begin on this thread.
    pub(in super::super) fn end(&mut self, id: CountId) -> Option<SiteAmounts> {
        let place = self.0.iter().position(|(other, _)| *other == id)?;
        Some(self.0.remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_has_what_came_between_its_ends() {
        let [outer, inner] = [CountId::new(), CountId::new()];
        let site = SiteId::of_bits;
        let mut counts = ThreadCounts::default();
        counts.add(site(1), 8);
        assert!(counts.begin(outer));
        counts.add(site(1), 16);
        assert!(counts.begin(inner));
        counts.add(site(1), 24);
        counts.add(site(2), 32);
        let inside = counts.end(inner).expect("it has begun");
        counts.add(site(2), 32);
        let amount = |instances, bytes| Amount { instances, bytes };
        assert_eq!(inside[&site(1)], amount(1, 24));
        assert_eq!(inside[&site(2)], amount(1, 32));
        assert_eq!(counts.get(outer).expect("it continues").len(), 2);
        let all = counts.end(outer).expect("it has begun");
        assert_eq!(all[&site(1)], amount(2, 40));
        assert_eq!(all[&site(2)], amount(2, 64));
        assert!(counts.end(outer).is_none(), "it has ended");
    }

    #[test]
    fn counts_that_nobody_ends_have_a_limit() {
        let mut counts = ThreadCounts::default();
        let first = CountId::new();
        assert!(counts.begin(first));
        while counts.begin(CountId::new()) {}
        assert_eq!(counts.0.len(), MOST);
        assert!(counts.end(first).is_some());
        assert!(counts.begin(CountId::new()), "there is room again");
    }
}
