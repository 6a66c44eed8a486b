//! The objects that have died after at least one collection, or may have. All other dead ones of a site were temporary.

use hprof_format::Survived;
use memory::{Map, OrStop};

use super::super::sites::{SiteId, Weight};

/// Dead objects by site and the collections they had survived.
#[derive(Clone, Default)]
pub(in super::super) struct Deaths(Map<(SiteId, Survived), Weight>);

impl Deaths {
    pub(in super::super) fn add(&mut self, site: SiteId, survived: Survived, weight: Weight) {
        *self.0.get_or_default((site, survived)).or_stop() += weight;
    }

    /// Adds the deaths of another table.
    pub(in super::super) fn append(&mut self, other: Deaths) {
        for ((site, survived), weight) in other.0 {
            self.add(site, survived, weight);
        }
    }

    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (SiteId, Survived, Weight)> {
        let entries = self.0.iter();
        entries.map(|(&(site, survived), &weight)| (site, survived, weight))
    }
}
