//! `hprof record` on systems without an agent: an error that names the system.

// What can be measured is asked of `hprof mcp` too.
#[path = "../record/budget.rs"]
#[allow(dead_code, reason = "as above")]
pub mod budget;
#[path = "../record/what.rs"]
#[allow(dead_code, reason = "only its names are used here")]
pub mod what;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::attach::{Consent, Library, NoAgent, no_agent};
use crate::failure::Failure;
use budget::BudgetArgument;
use what::What;

/// Profile a program, and show what the profile says (on Linux)
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    _any: NoAgent,
}

/// Says that there is no agent.
pub fn run(_: &Arguments) -> Result<u8, Failure> {
    Err(no_agent())
}

/// Says that there is no agent.
pub fn running(
    _: &str,
    _: &What,
    _: BudgetArgument,
    _: Duration,
    _: &Path,
    _: &Consent,
    _: &Library,
) -> Result<PathBuf, Failure> {
    Err(no_agent())
}
