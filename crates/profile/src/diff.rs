//! The comparison of two profiles.

use foldhash::HashMap;

use crate::group::By;
use crate::metric::Metric;
use crate::model::Profile;
use crate::top::{Cost, costs};

/// The cost of a group in two profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The group's name.
    pub name: String,
    /// Its costs in the first; `None` if it does not occur there.
    pub base: Option<Costs>,
    /// Its costs in the second; `None` if it does not occur there.
    pub new: Option<Costs>,
}

/// The cost of one group in one profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The cost of the group itself.
    pub own: u64,
    /// The cost including everything it calls.
    pub total: u64,
}

impl Change {
    /// Returns the increase of `cost` from the first profile to the second.
    #[must_use]
    pub fn difference(&self, cost: impl Fn(&Costs) -> u64) -> i128 {
        let value = |costs: &Option<Costs>| i128::from(costs.as_ref().map_or(0, &cost));
        value(&self.new) - value(&self.base)
    }
}

/// Returns the costs of every group of two profiles, which must be [comparable](Profile::comparable). The base's are
/// multiplied by `scale`. The largest change of the own cost comes first.
#[must_use]
pub fn changes(base: &Profile, new: &Profile, metric: Metric, by: By, scale: Scale) -> Vec<Change> {
    let mut changes: HashMap<String, Change> = HashMap::default();
    let mut change = |cost: Cost, scale: Scale, side: fn(&mut Change) -> &mut Option<Costs>| {
        let change = changes.entry(cost.name).or_insert_with_key(|name| Change {
            name: name.clone(),
            base: None,
            new: None,
        });
        *side(change) = Some(Costs {
            own: scale.of(cost.own),
            total: scale.of(cost.total),
        });
    };
    for cost in costs(base, metric, by) {
        change(cost, scale, |change| &mut change.base);
    }
    for cost in costs(new, metric, by) {
        change(cost, Scale::ONE, |change| &mut change.new);
    }
    let mut changes: Vec<Change> = changes.into_values().collect();
    changes.sort_by_cached_key(|change| {
        let own = change.difference(|costs| costs.own).unsigned_abs();
        let total = change.difference(|costs| costs.total).unsigned_abs();
        (std::cmp::Reverse((own, total)), change.name.clone())
    });
    changes
}

/// A fraction by which values are multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The numerator.
    pub numerator: u64,
    /// The denominator; 0 leaves values as they are.
    pub denominator: u64,
}

impl Scale {
    /// Leaves values as they are.
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// Multiplies a value, rounding to the nearest whole number.
    #[must_use]
    pub fn of(self, value: u64) -> u64 {
        if self.numerator == self.denominator || self.denominator == 0 {
            return value;
        }
        let denominator = u128::from(self.denominator);
        let scaled = u128::from(value) * u128::from(self.numerator) + denominator / 2;
        u64::try_from(scaled / denominator).unwrap_or(u64::MAX)
    }
}
