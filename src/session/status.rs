//! What the user is told about a session that runs.

use std::time::Instant;

/// Where a profile goes, and what it is.
pub struct Status {
    /// The options as they were given.
    pub options: String,
    /// The output: the file, as an absolute path where that could be found out, or the collector.
    pub output: String,
    /// When the profile began.
    pub since: Instant,
}

impl Status {
    /// One line. `panicked` says that a fault of the agent put an end to the profile.
    pub(super) fn line(&self, panicked: bool) -> String {
        let (output, options) = (&self.output, &self.options);
        if panicked {
            return format!("a fault of the agent ended the profile in {output} ({options})");
        }
        let seconds = self.since.elapsed().as_secs();
        format!("profiling for {seconds} s into {output} ({options})")
    }
}
