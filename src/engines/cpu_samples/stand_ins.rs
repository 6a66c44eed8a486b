//! Names in place of methods that cannot be seen.

/// The name, in place of a method, of the agent's own time on a thread of the program.
pub(super) const OWN_TIME: &str = "<HPROF>";
