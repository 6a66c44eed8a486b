//! The status of a running session, for the user.

use std::time::Instant;

/// The facts about a profile.
pub struct Status {
    /// The options as they were given.
    pub options: String,
    /// The time at which the profile began.
    pub since: Instant,
}

impl Status {
    /// Formats the status as one line. `output` is the profile's destination; `panicked` is `true` if a fault of the
    /// agent ended the profile.
    pub(super) fn line(&self, output: &str, panicked: bool) -> String {
        let options = &self.options;
        if panicked {
            return format!("a fault of the agent ended the profile in {output} ({options})");
        }
        let seconds = self.since.elapsed().as_secs();
        format!("profiling for {seconds} s into {output} ({options})")
    }
}
