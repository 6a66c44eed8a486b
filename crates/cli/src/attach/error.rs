//! The reasons for which a program cannot be profiled.

use std::io;
use std::path::PathBuf;

use hprof_os::AGENT_LIBRARY;

use super::protocol::{LONGEST_ANSWER, LONGEST_ARGUMENT};
use crate::failure::Failure;

/// The reason a program cannot be reached, or its refusal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no process {0}")]
    NoProcess(u32),
    #[error(
        "no running program has `{name}` in the name of its main class or jar{}; `hprof list` shows them",
        .nearest.as_ref().map_or(String::new(), |nearest| format!(": did you mean `{nearest}`?"))
    )]
    NoSuchProgram {
        name: String,
        nearest: Option<String>,
    },
    #[error("`{name}` may be {programs}: name one by its process id")]
    Ambiguous { name: String, programs: String },
    #[error("process {pid} belongs to user {uid}: only that user, and root, may attach to it")]
    AnotherUser { pid: u32, uid: u32 },
    #[error("process {0} is not a JVM")]
    NotAJvm(u32),
    #[error(
        "process {0} is stopped (SIGSTOP); it cannot answer until it continues (kill -CONT {0})"
    )]
    Stopped(u32),
    #[error("process {0} does not allow attaching (-XX:+DisableAttachMechanism)")]
    Disabled(u32),
    #[error("process {0} does not accept requests yet: it is still starting")]
    Deaf(u32),
    #[error(
        "process {pid} did not answer within {seconds} s: it is very busy, held by a debugger, or does not allow attaching \
         (-XX:+DisableAttachMechanism)"
    )]
    NoAnswer { pid: u32, seconds: u64 },
    #[error(
        "interrupted before process {0} answered; it may still carry out what it was asked for"
    )]
    Interrupted(u32),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{} of process {pid}: {error}", path.display())]
    Theirs {
        pid: u32,
        path: PathBuf,
        error: io::Error,
    },
    #[error(
        "process {pid} belongs to user {uid}, and this command could not take on that user's rights: {error}"
    )]
    NotItsUser {
        pid: u32,
        uid: u32,
        error: io::Error,
    },
    #[error("process {pid} cannot be sent a signal: {error}")]
    NoSignal { pid: u32, error: io::Error },
    #[error("{} of process {pid} is not a socket: somebody else has put it there; nothing was sent", socket.display())]
    NoSocket { pid: u32, socket: PathBuf },
    #[error(
        "{} of process {pid} belongs to user {uid}, not to the program's user: somebody else has created it; nothing was sent",
        socket.display()
    )]
    ForeignSocket { pid: u32, socket: PathBuf, uid: u32 },
    #[error(
        "{} as process {pid} sees it: {error}: it belongs to user {uid}, not to the program's user; another process that has the same \
         number in its container made it, and may still use it; nothing was sent",
        socket.display()
    )]
    LeftSocket {
        pid: u32,
        socket: PathBuf,
        uid: u32,
        error: io::Error,
    },
    #[error(
        "{} of process {pid} leads to another process: {peer} of user {uid} (0 is one that cannot be seen from here); \
         nothing was sent", socket.display()
    )]
    ForeignPeer {
        pid: u32,
        socket: PathBuf,
        peer: i32,
        uid: u32,
    },
    #[error("process {0} ended before it answered")]
    Ended(u32),
    #[error(
        "process {0} closed the connection without an answer: its VM does not accept requests from this user"
    )]
    NoWord(u32),
    #[error("the answer of process {0} is longer than {max} bytes, the most that is read", max = LONGEST_ANSWER)]
    TooMuch(u32),
    #[error("the connection to process {pid} broke: {error}")]
    Broken { pid: u32, error: io::Error },
    #[error("process {pid} sent an answer that cannot be understood: {answer}")]
    Unreadable { pid: u32, answer: String },
    #[error("the options are {0} bytes long; a running VM accepts at most {max}", max = LONGEST_ARGUMENT)]
    TooLong(usize),
    #[error("{library} is neither in {} nor in the ../lib next to it: name it with --agent", .0.display(), library = AGENT_LIBRARY)]
    NoLibrary(PathBuf),
    #[error(
        "process {pid} does not see {}: it has a file system of its own (a container); copy {library} into it, and \
         name it with --agent as the process sees it", path.display(), library = AGENT_LIBRARY
    )]
    NotVisible { pid: u32, path: PathBuf },
    #[error(
        "{}: process {pid} does not see this folder: it has a file system of its own (a container); name a folder that \
         both have, or use `hprof attach`", folder.display()
    )]
    NotSeen { pid: u32, folder: PathBuf },
    #[error("no profile is running in process {0}: the agent is not loaded")]
    NoAgent(u32),
    #[error(
        "the library that process {pid} runs, {}, has been removed or replaced since: its profile ends with the program",
        path.display()
    )]
    LibraryGone { pid: u32, path: PathBuf },
    #[error("the VM of process {pid} did not load the agent: {answer}")]
    NotLoaded { pid: u32, answer: String },
    #[error("{0}")]
    Refused(String),
    #[error("the agent refused (return code {code}); the reason is on the stderr of process {pid}")]
    RefusedSilently { pid: u32, code: i32 },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Ambiguous { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Message(error.to_string()),
        }
    }
}
