//! `hprof mcp`: answers for assistants, over the Model Context Protocol on the standard input and output.
//!
//! `tools` has the tools, whose requests (`profiles`, `dumps`, `programs`) are command lines; `command` runs those, and
//! `answer` makes what they print small enough. `folders` says which files may be touched, `server` speaks the protocol,
//! whose `lines` are looked at first.

mod answer;
mod command;
mod dumps;
mod folders;
mod lines;
mod profiles;
mod programs;
mod request;
mod server;
mod tools;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::transport::stdio;

use crate::attach::Library;
use crate::duration;
use crate::failure::Failure;
use command::Program;
use folders::Folders;
use lines::Lines;
use server::Server;

/// Answer an assistant's questions, over the Model Context Protocol
///
/// A client starts this command and speaks with it on its standard input and output;
/// no port is opened. Its tools are commands of `hprof`: what costs most, who calls it, what has changed,
/// what keeps the heap alive, who allocated it. Answers are small, say how far their numbers
/// can be trusted, and hold the names of the program as data.
///
/// Only files in the folders are read and written. Nothing attaches to a running
/// program without --allow-attach.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The folders with the profiles and heap dumps
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// Let clients start, write and stop profiles in running programs of this user
    #[arg(long)]
    allow_attach: bool,

    /// The longest that a question may take
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10m")]
    time_limit: Duration,

    #[command(flatten)]
    library: Library,
}

/// Answers requests until the client closes the standard input.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folders = Folders::find(&arguments.folders)?;
    let failed = |error: io::Error| Failure::Message(format!("no server can be started: {error}"));
    let program = Program::find().map_err(failed)?;
    let library = arguments.allow_attach.then_some(&arguments.library);
    let server = Server::new(folders, program, library, arguments.time_limit);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(async {
        let (input, output) = stdio();
        let lines = Lines::between(input, output);
        let running = server.serve((lines.incoming, lines.outgoing)).await?;
        running.waiting().await?;
        match lines.written.await? {
            // The client has gone without waiting for an answer.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    });
    // A read of the standard input may still be under way, on a thread that nothing ends.
    runtime.shutdown_background();
    served.map_err(|error| Failure::Message(format!("the connection to the client: {error}")))
}
