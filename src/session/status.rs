//! What the user is told about a session that runs.

use std::time::Instant;

/// What a profile is.
pub struct Status {
    /// The options as they were given.
    pub options: String,
    /// When the profile began.
    pub since: Instant,
}

impl Status {
    /// One line. `output` is where the profile goes, `panicked` says that a fault of the agent put an end to the profile.
    pub(super) fn line(&self, output: &str, panicked: bool) -> String {
        let options = &self.options;
        if panicked {
            return format!("a fault of the agent ended the profile in {output} ({options})");
        }
        let seconds = self.since.elapsed().as_secs();
        format!("profiling for {seconds} s into {output} ({options})")
    }
}
