//! Profiles of running programs: `hprof list`, `attach`, `status`, `dump` and `stop`.
//!
//! `commands` are these; `process` reads /proc, `threads` the CPU time of threads, `perf_data` the data that a VM publishes; `listener` is
//! the VM's attach socket, `client_socket` that of `hprof live`, and `limit` how long they wait; `agent` finds the library and sends it
//! commands, which it answers in a `reply`. The folder `windows` has those of these modules that are different there. The program may be hostile, and the user may be root: `view` accesses its files
//! safely, and its answers are read up to a limit and printed without control characters.

mod agent;
mod answer;
mod client_socket;
mod commands;
mod doctor;
mod error;
mod library;
mod limit;
mod listener;
mod live_dump;
mod pause;
mod perf_data;
mod process;
mod program;
mod protocol;
mod reply;
mod session;
mod socket;
mod threads;
mod view;

use std::path::Path;

use crate::failure::Failure;
pub use commands::{AgentPath, Attach, Dumping, List, Running};
pub use doctor::Doctor;
use error::Error;
pub use library::Library;
pub use live_dump::LiveDump;
pub use pause::{Consent, DumpWay};
use process::Process;
pub use program::Program;
pub use session::Session;
pub use threads::ThreadTime;
use view::Folder;

/// The folder in which a VM has its files for clients that attach.
const TEMPORARY: &str = "/tmp";

/// Returns an error unless the program sees the same folder at this path.
pub fn check_sees(pid: u32, folder: &Path) -> Result<(), Failure> {
    Ok(Process::find(pid)?.check_sees(folder)?)
}

/// Returns `true` if this is a running JVM that has loaded the agent.
pub fn is_profiled(pid: u32) -> bool {
    Process::find(pid).is_ok_and(|process| agent::loaded(&process, None).is_ok())
}

/// Returns the program's folder for such files.
fn temporary(process: &Process) -> Result<Folder, Error> {
    let folder = process.view().folder(Path::new(TEMPORARY));
    folder.map_err(|error| Error::Theirs {
        pid: process.pid(),
        path: TEMPORARY.into(),
        error,
    })
}
