//! The number of allocations that one allocation event stands for.

use super::sites::Weight;
use jvmti::Interval;

/// The method of counting allocations.
#[derive(Clone, Copy, Debug)]
pub(super) enum SampleWeight {
    /// Each event counts as one object.
    Exact,
    /// Each event stands for many: the number of bytes between two sampled allocations is geometrically distributed,
    /// with this mean.
    Sampled(f64),
}

impl SampleWeight {
    pub(super) fn new(interval: Interval) -> Self {
        match interval {
            Interval::Every => Self::Exact,
            Interval::Bytes(bytes) => Self::Sampled(f64::from(bytes)),
        }
    }

    /// Returns the weight of an object of that size.
    ///
    /// Each byte is sampled with probability 1 / mean, so an object of `s` bytes is seen with probability `1 - e^(-s /
    /// mean)`, and stands for the inverse of that.
    pub(super) fn weight(self, size: u64) -> Weight {
        match self {
            Self::Exact => Weight::exact(size),
            Self::Sampled(mean) => {
                let stands_for = stands_for(size, mean);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "both are positive, and the casts saturate"
                )]
                let weight = Weight {
                    instances: (stands_for * Weight::ONE as f64).round() as u64,
                    bytes: (stands_for * size as f64).round() as u64,
                };
                weight
            }
        }
    }

    /// Returns what a sampled object of that size adds to the variance of the sums it is part of; nothing if every
    /// object is counted.
    ///
    /// An object that is seen with probability `p` and counted as `1 / p` has the variance `(1 - p) / p`. Only a share of
    /// `p` is seen, so each of those counts for `(1 - p) / p^2`.
    pub(super) fn variance(self, size: u64) -> Option<Variance> {
        match self {
            Self::Exact => None,
            Self::Sampled(mean) => {
                let stands_for = stands_for(size, mean);
                let objects = stands_for * (stands_for - 1.0);
                Some(Variance {
                    objects,
                    bytes: objects * (size as f64).powi(2),
                })
            }
        }
    }
}

/// The variance of a number of objects and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Variance {
    pub(super) objects: f64,
    pub(super) bytes: f64,
}

impl std::ops::AddAssign for Variance {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

impl std::ops::Sub for Variance {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            objects: (self.objects - other.objects).max(0.0),
            bytes: (self.bytes - other.bytes).max(0.0),
        }
    }
}

/// Returns the number of objects of that size that one of them stands for.
fn stands_for(size: u64, mean: f64) -> f64 {
    1.0 / -(-(size as f64) / mean).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_objects_stand_for_many_and_huge_ones_for_themselves() {
        let sample_weight = SampleWeight::Sampled(524_288.0);
        let small = sample_weight.weight(16);
        assert!((small.instances as f64 / Weight::ONE as f64 - 32_768.5).abs() < 0.1);
        assert!(small.bytes.abs_diff(524_296) <= 1);
        assert_eq!(
            sample_weight.weight(100 << 20),
            Weight {
                instances: Weight::ONE,
                bytes: 100 << 20
            }
        );
        assert_eq!(SampleWeight::Exact.weight(24), Weight::exact(24));
    }

    /// Compares the truth with the estimate, with sample points distributed as the VM does it.
    #[test]
    fn estimates_are_unbiased() {
        let (mean, size, objects) = (10_000.0_f64, 400_u64, 2_000_000_u64);
        let sample_weight = SampleWeight::Sampled(mean);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next_gap = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            -(((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln() * mean
        };
        let (mut estimate, mut left) = (0, next_gap());
        for _ in 0..objects {
            left -= size as f64;
            if left < 0.0 {
                estimate += sample_weight.weight(size).bytes;
                left = next_gap();
            }
        }
        let truth = objects * size;
        assert!(
            (estimate as f64 / truth as f64 - 1.0).abs() < 0.02,
            "{estimate} for {truth}"
        );
    }
}
