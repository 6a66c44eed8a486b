//! The standard errors of a section's totals, as stated in the line before it.

use crate::left_out::{SITES, list, values_of};

/// How far the totals of ALLOC SITES may be off, because allocations were sampled: the standard errors of live bytes and
/// objects, allocated bytes and objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardErrors(pub [u64; 4]);

/// The text before the values.
const START: &str = "standard errors of the totals: ";

impl StandardErrors {
    /// Returns the square roots of variances.
    #[must_use]
    pub fn of_variances(variances: [f64; 4]) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "roots are positive, and the casts saturate"
        )]
        Self(variances.map(|variance| variance.sqrt().round() as u64))
    }

    /// Returns the standard errors of sums of independent estimates.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let squares = |at: usize| (self.0[at] as f64).powi(2) + (other.0[at] as f64).powi(2);
        Self::of_variances(std::array::from_fn(squares))
    }

    /// Formats the line before ALLOC SITES.
    #[must_use]
    pub fn note(&self) -> String {
        format!("{START}{}", list(self.0, SITES))
    }

    /// Parses the line of [`StandardErrors::note`].
    pub(crate) fn of_note(note: &str) -> Option<Self> {
        values_of(note.strip_prefix(START)?, SITES).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let errors = StandardErrors([1, 20, 0, u64::MAX]);
        let note = "standard errors of the totals: 1 live bytes, 20 live objects, 0 allocated bytes, \
                    18446744073709551615 allocated objects";
        assert_eq!(errors.note(), note);
        assert_eq!(StandardErrors::of_note(note), Some(errors));
        for other in ["", "sampled every 512 bytes", &note.replace(", 20", ", x")] {
            assert_eq!(StandardErrors::of_note(other), None, "{other}");
        }
    }

    #[test]
    fn errors_of_independent_estimates_add_up_as_squares() {
        let (one, other) = (StandardErrors([3, 0, 5, 8]), StandardErrors([4, 1, 12, 15]));
        assert_eq!(one.and(other), StandardErrors([5, 1, 13, 17]));
        let roots = StandardErrors::of_variances([9.0, 0.0, 2.0, 1e4]);
        assert_eq!(roots, StandardErrors([3, 0, 1, 100]));
    }
}
