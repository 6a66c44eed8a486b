//! The agent's library, as it is named on the command line.

use std::path::{Path, PathBuf};

use super::agent;
use crate::failure::Failure;

/// The agent's library.
#[derive(Default, clap::Args)]
pub struct Library {
    /// The agent, libhprof.so, as the program sees it [default: the one the program has, or the one next to
    /// this command]
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

impl Library {
    /// Returns the path that was given.
    pub fn named(&self) -> Option<&Path> {
        self.agent.as_deref()
    }

    /// Returns the path of the library for a program that is yet to start.
    pub fn for_new_program(&self) -> Result<PathBuf, Failure> {
        let Some(named) = &self.agent else {
            return Ok(agent::installed_library()?);
        };
        let about = |error| Failure::about(named, error);
        named.canonicalize().map_err(about)
    }
}
