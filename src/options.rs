//! The options of the agent: the package `hprof_options`.

pub use hprof_options::*;
