//! Sites whose objects come and go: few of those that they have made are alive.

use std::sync::Arc;

use foldhash::HashMap;
use serde::Serialize;

use crate::data::heap::Heap;
use crate::data::numbers::SiteIndex;

/// A site turns over if it has made at least so many times the objects that are alive.
const TURNS: u64 = 2;

/// The evidence that what a suspect keeps is replaced all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turnover {
    /// The objects made by the time of the dump at those of its sites whose objects come and go.
    pub made: u64,
    /// Those of them that were alive then.
    pub alive: u64,
}

/// The sites of a dump that turn over, by class and trace, as they were reported with it.
#[derive(Default)]
pub(crate) struct TurningSites(HashMap<(Arc<str>, u32), Turnover>);

impl Heap<'_> {
    /// Returns the sites that turn over. There are none if the allocation sites were not reported with the dump.
    pub(crate) fn turning_sites(&self) -> TurningSites {
        let mut sites: HashMap<(Arc<str>, u32), Turnover> = HashMap::default();
        for row in self.dump.sites_reported_with() {
            let Some(class) = self.dump.class_name_by_serial(row.class.0) else {
                continue;
            };
            let sum = sites.entry((class, row.trace.0)).or_default();
            sum.made = sum.made.saturating_add(row.allocated_instances);
            sum.alive = sum.alive.saturating_add(row.live_instances);
        }
        sites.retain(|_, site| site.made >= site.alive.saturating_mul(TURNS));
        TurningSites(sites)
    }

    /// Returns the evidence if most of the bytes of what a suspect keeps come from sites that turn over, given the objects and
    /// bytes of each site.
    pub(crate) fn turnover(
        &self,
        turning: &TurningSites,
        sites: &HashMap<SiteIndex, (u64, u64)>,
    ) -> Option<Turnover> {
        let (mut all, mut of_turning, mut sum) = (0_u64, 0_u64, Turnover::default());
        for (&site, &(_, bytes)) in sites {
            all = all.saturating_add(bytes);
            let site = self.objects.sites.get(site);
            let class = Arc::clone(&self.classes.get(site.class).name);
            if let Some(found) = turning.0.get(&(class, site.trace)) {
                of_turning = of_turning.saturating_add(bytes);
                sum.made = sum.made.saturating_add(found.made);
                sum.alive = sum.alive.saturating_add(found.alive);
            }
        }
        (of_turning > all / 2).then_some(sum)
    }
}
