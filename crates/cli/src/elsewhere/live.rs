//! `hprof live` on systems without an agent: an error that names the system.

use crate::attach::{NoAgent, no_agent};
use crate::failure::Failure;

/// Watch a running program, like `top` (on Linux)
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    _any: NoAgent,
}

/// Says that there is no agent.
pub fn run(_: &Arguments) -> Result<(), Failure> {
    Err(no_agent())
}
