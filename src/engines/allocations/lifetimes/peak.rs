//! The objects alive after the collection that left most bytes.

use std::time::Duration;

use memory::{Map, OrStop};

use super::super::sites::{SiteId, Weight};
use super::course::Look;

/// The part by which a new maximum must be above the last, while the program runs: each takes a look at all objects.
const STEP: u64 = 16;

/// The live objects by site, after one collection.
#[derive(Clone, Default)]
pub(in super::super) struct PeakObjects {
    /// The number of collections since the profile began.
    pub(in super::super) collections: u32,
    /// The time since then.
    pub(in super::super) time: Duration,
    pub(in super::super) sites: Map<SiteId, Weight>,
    bytes: u64,
}

/// Finds the maximum.
#[derive(Default)]
pub(in super::super) struct PeakWatch {
    peak: PeakObjects,
    /// The bytes above which it is worth the time to look at all objects.
    next: u64,
}

impl PeakWatch {
    /// Returns `true` if so many bytes may be a new maximum.
    pub(in super::super) fn is_due(&self, most: u64) -> bool {
        most > self.next
    }

    /// Takes what is alive now, if that is more than before.
    pub(in super::super) fn take(&mut self, now: &Look) {
        let live = || now.sites.iter().map(|&(site, live, _)| (site, live));
        let bytes = live().map(|(_, live)| live.bytes).sum();
        let most = self.peak.bytes.max(bytes);
        self.next = most + most / STEP;
        if bytes > self.peak.bytes {
            let sites = live().filter(|&(_, live)| live != Weight::default());
            self.peak = PeakObjects {
                collections: now.collections,
                time: now.time,
                sites: Map::collect(sites).or_stop(),
                bytes,
            };
        }
    }

    /// Returns the maximum; `None` if nothing was alive after a collection yet.
    pub(in super::super) fn peak(&self) -> Option<&PeakObjects> {
        (self.peak.bytes > 0).then_some(&self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::allocations::sites::{SiteKey, Sites};
    use memory::List;
    use names::Tables;
    use names::loader::LoaderId;
    use names::object::ObjectId;
    use names::trace::TraceId;

    #[test]
    fn the_most_is_kept_and_little_more_is_not_worth_a_look() {
        let (tables, sites) = (Tables::default(), Sites::default());
        let name = tables.strings.intern("C");
        let class = tables.classes.intern(LoaderId::BOOT, name, || ObjectId(1));
        let site = sites.intern(SiteKey {
            class: class.id(),
            trace: TraceId::EMPTY,
        });
        let mut watch = PeakWatch::default();
        for (collections, bytes) in [(1, 1_600), (2, 3_200), (3, 800)] {
            let live = Weight::exact(bytes);
            watch.take(&Look {
                time: Duration::ZERO,
                collections,
                sites: List::collect([(site, live, live)]).expect("little"),
            });
        }
        assert_eq!(watch.peak().map(|peak| peak.collections), Some(2));
        assert!(watch.is_due(3_401) && !watch.is_due(3_400));
    }
}
