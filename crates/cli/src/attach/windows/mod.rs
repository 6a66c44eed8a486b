//! Profiles of running programs on Windows: the same commands, through the VM's own way to attach there.
//!
//! `process` asks the system of a program, `listener` has a thread of the program hand the VM a request, which answers through a pipe,
//! and the agent answers in the file of `reply`. Other modules are those of all systems.

#[path = "../agent.rs"]
mod agent;
#[path = "../answer.rs"]
mod answer;
mod client_socket;
#[path = "../commands.rs"]
mod commands;
mod doctor;
#[path = "../error.rs"]
mod error;
#[path = "../library.rs"]
mod library;
#[path = "../limit.rs"]
mod limit;
mod listener;
mod live_dump;
#[path = "../../elsewhere/no_agent.rs"]
mod no_agent;
#[path = "../pause.rs"]
mod pause;
#[path = "../perf_data.rs"]
mod perf_data;
mod process;
#[path = "../program.rs"]
mod program;
#[path = "../protocol.rs"]
mod protocol;
mod reply;
#[path = "../session.rs"]
mod session;
mod threads;

use std::path::Path;

use crate::failure::Failure;
pub use commands::{AgentPath, Attach, Dumping, List, Running};
pub use doctor::Doctor;
pub use library::Library;
pub use live_dump::LiveDump;
pub use no_agent::{NoAgent, no_agent};
pub use pause::{Consent, DumpWay};
use process::Process;
pub use program::Program;
pub use session::Session;
pub use threads::ThreadTime;

/// Returns an error unless the program sees the same folder at this path.
pub fn check_sees(pid: u32, folder: &Path) -> Result<(), Failure> {
    Ok(Process::find(pid)?.check_sees(folder)?)
}
