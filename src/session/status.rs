//! The status of a running session, for the user.

use std::time::{Duration, Instant};

use hprof_format::Note;

/// The facts about a profile.
pub struct Status {
    /// The options as they were given.
    pub options: String,
    /// The time at which the profile began.
    pub since: Instant,
    /// The CPU time that the process had used by then.
    pub cpu_before: Duration,
}

/// Returns the CPU time that the process has used.
#[must_use]
pub fn cpu_of_process() -> Duration {
    Duration::from_nanos(jvmti::process_cpu_time())
}

impl Status {
    /// Returns the note that says how much CPU time the process used while it was profiled.
    pub(super) fn cpu_note(&self) -> Note<'static> {
        Note::of_process_cpu(cpu_of_process().saturating_sub(self.cpu_before))
    }

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
