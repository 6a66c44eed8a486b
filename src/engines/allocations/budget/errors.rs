//! The standard errors of the sums that are made of samples.

use super::super::sample_weight::Variance;
use locks::{Mutex, rank};

/// The uncertainty of a number of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct Uncertainty {
    pub(in super::super) made: Variance,
    pub(in super::super) dead: Variance,
}

/// The sum over all sites.
#[derive(Default)]
pub(in super::super) struct EstimateErrors(Mutex<Sums, rank::EstimateErrors>);

#[derive(Default)]
struct Sums {
    all: Uncertainty,
    /// The part of what was made that no longer counts: previous outputs have it, or it was forgotten.
    before: Variance,
}

impl EstimateErrors {
    pub(in super::super) fn add(&self, more: Uncertainty) {
        if more == Uncertainty::default() {
            return;
        }
        let mut sums = self.0.lock();
        sums.all.made += more.made;
        sums.all.dead += more.dead;
    }

    /// Returns the variances of what is alive, and of what was allocated since the output began.
    pub(in super::super) fn live_and_allocated(&self) -> [Variance; 2] {
        let sums = self.0.lock();
        let Uncertainty { made, dead } = sums.all;
        [made - dead, made - sums.before]
    }

    /// Begins another output, or counts from zero.
    pub(in super::super) fn restart(&self) {
        let mut sums = self.0.lock();
        sums.before = sums.all.made;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dead_or_reported_no_longer_counts() {
        let of = |bytes| Variance {
            objects: bytes / 100.0,
            bytes,
        };
        let errors = EstimateErrors::default();
        errors.add(Uncertainty {
            made: of(900.0),
            dead: of(0.0),
        });
        assert_eq!(errors.live_and_allocated(), [of(900.0), of(900.0)]);
        errors.restart();
        errors.add(Uncertainty {
            made: of(400.0),
            dead: of(1000.0),
        });
        assert_eq!(errors.live_and_allocated(), [of(300.0), of(400.0)]);
    }
}
