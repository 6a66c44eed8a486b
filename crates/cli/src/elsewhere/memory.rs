//! `hprof memory` on systems without an agent: an error that names the system.

use crate::attach::{NoAgent, no_agent};
use crate::failure::Failure;

/// Show where the memory of a running JVM is, and what makes it large (on Linux)
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    _any: NoAgent,
}

/// Says that there is no agent.
pub fn run(_: &Arguments) -> Result<(), Failure> {
    Err(no_agent())
}
