//! Names in place of methods that cannot be seen.

/// The name, in place of a function, of code of a library that is gone.
pub(super) const UNLOADED: &str = "<unloaded-library>";

/// The name, in place of a method, of the agent's own time on a thread of the program.
pub(super) const OWN_TIME: &str = "<HPROF>";

/// The name, in place of methods, of the outer frames of a virtual thread that are not on its carrier's stack.
pub(super) const IN_HEAP: &str = "<frames-in-heap>";

/// The name, in place of methods, of the outer frames of a stack that took too long to walk.
pub(super) const CUT: &str = "<frames-cut>";
