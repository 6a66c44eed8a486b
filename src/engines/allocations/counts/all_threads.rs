//! The allocations of all threads since each count began.

use memory::{List, Map, OrStop};

use super::super::sites::{Amount, Sites, Weight};
use super::thread_counts::{CountId, SiteAmounts};
use locks::{Mutex, rank};

/// The most counts of all threads that may have begun: each keeps the whole site table as it was.
const MOST: usize = 64;

/// The counts of all threads that have begun and not ended, with what had been allocated at each site before.
#[derive(Default)]
pub(in super::super) struct AllThreadsCounts(
    Mutex<Map<CountId, List<Weight>>, rank::AllThreadsCounts>,
);

impl AllThreadsCounts {
    /// Begins a count; returns `false` if there are too many. All objects allocated so far have been counted at their sites.
    pub(in super::super) fn begin(&self, id: CountId, sites: &Sites) -> bool {
        let made = List::collect(sites.iter().map(|(_, site)| site.made())).or_stop();
        let mut counts = self.0.lock();
        let has_room = counts.len() < MOST;
        if has_room {
            counts.insert(id, made).or_stop();
        }
        has_room
    }

    /// Returns what a count has; `None` if it has not begun. All objects allocated so far have been counted at their sites.
    pub(in super::super) fn get(&self, id: CountId, sites: &Sites) -> Option<SiteAmounts> {
        let counts = self.0.lock();
        let before = counts.get(&id)?;
        let made = sites.entries().map(|(site, _, tally)| {
            let before = before.get(site.index()).copied().unwrap_or_default();
            (site, Amount::from(tally.made().less(before)))
        });
        let made = made.filter(|(_, amount)| amount.instances > 0);
        Some(SiteAmounts::collect(made).or_stop())
    }

    /// Ends a count.
    pub(in super::super) fn end(&self, id: CountId) {
        self.0.lock().remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sites::SiteKey;
    use super::*;
    use names::Tables;
    use names::loader::LoaderId;
    use names::object::ObjectId;
    use names::trace::TraceId;

    #[test]
    fn what_was_made_before_is_not_counted() {
        let tables = Tables::default();
        let sites = Sites::default();
        let site = |name| {
            let name = tables.strings.intern(name);
            let class = tables.classes.intern(LoaderId::BOOT, name, || ObjectId(1));
            sites.intern(SiteKey {
                class: class.id(),
                trace: TraceId::EMPTY,
            })
        };
        let (old, idle) = (site("Old"), site("Idle"));
        for id in [old, idle] {
            sites.get(id).add_allocated(Weight::exact(16));
        }
        let counts = AllThreadsCounts::default();
        let id = CountId::new();
        assert!(counts.begin(id, &sites));
        let new = site("New");
        sites.get(old).add_allocated(Weight::exact(16));
        sites.get(new).add_allocated(Weight::exact(40));
        let found = counts.get(id, &sites).expect("it has begun");
        let amount = |bytes| Amount {
            instances: 1,
            bytes,
        };
        let expected = [(old, amount(16)), (new, amount(40))];
        assert_eq!(*found, expected.into_iter().collect());
        counts.end(id);
        assert!(counts.get(id, &sites).is_none());
    }
}
