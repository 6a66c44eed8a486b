//! `hprof options`: the options of the agent.

use std::io::{self, Write};
use std::path::Path;

use hprof_options::{describe, help};

use crate::failure::Failure;

/// Print the options of the agent, or describe one of them
///
/// These are the options of -agentpath:libhprof.so=... and of `hprof attach`, as
/// -agentpath:libhprof.so=help prints them.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = help())]
pub struct Arguments {
    /// The option, as in `hprof options depth`
    name: Option<String>,
}

/// Prints the options.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match &arguments.name {
        None => help(),
        Some(name) => describe(name).map_err(|error| Failure::Message(error.to_string()))?,
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::writing(Path::new("standard output"), &error))
}
