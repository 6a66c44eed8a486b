//! Commands that a system lacks.

use crate::failure::Failure;

/// Returns the failure of a command that needs the agent, or what the agent can do on Linux alone.
pub fn no_agent() -> Failure {
    let why = match hprof_os::HAS_AGENT {
        true => {
            "this command works on Linux alone; `hprof attach` profiles a running program here, and `java -agentpath:` one from its start"
        }
        false => {
            "no program can be profiled here, there is no agent: this command works on Linux and Windows; the files of a profile or a \
             heap dump from there can be read here"
        }
    };
    Failure::Message(format!("{}: {why}", hprof_os::NAME))
}

/// Such a command, with any arguments.
#[derive(clap::Args)]
pub struct NoAgent {
    #[arg(
        hide = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    _arguments: Vec<String>,
}
