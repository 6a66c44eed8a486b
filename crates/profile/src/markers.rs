//! The names of frames that are no methods.

use crate::metric::Metric;
use crate::model::Profile;

/// Costs that are in the file's totals but in no row.
pub(crate) const NOT_LISTED: &str = "<not listed>";
/// Stacks in which no code is one's own.
pub(crate) const OTHER: &str = "<other code>";
/// Rows that were made before the agent saw allocations.
pub(crate) const BEFORE: &str = "<made before the profile>";
/// Rows of threads that ran no Java code.
pub(crate) const NO_FRAMES: &str = "<no Java frames>";
/// Rows of a profile that keeps no frames.
pub(crate) const NO_DEPTH: &str = "<no stacks, depth=0>";

impl Profile {
    /// Returns the name of rows whose stack has no frames.
    pub(crate) fn stackless(&self, metrics: &[Metric]) -> &'static str {
        if self.depths == [0] {
            return NO_DEPTH;
        }
        let is_of_objects =
            |metric: &Metric| matches!(metric, Metric::AllocBytes | Metric::TemporaryBytes);
        match metrics.iter().any(is_of_objects) {
            true => BEFORE,
            false => NO_FRAMES,
        }
    }
}
