//! The VM's way to be attached to: its function `JVM_EnqueueOperation`, called by a thread that this command starts in the program, as the
//! JDK's tools do. It takes a command, three arguments and the name of a pipe, into which the VM writes its answer.

use std::ffi::CString;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hprof_os::pipe::AnswerPipe;

use super::answer::Answer;
use super::error::Error;
use super::limit::Limit;
use super::process::Process;
use super::protocol::LONGEST_ARGUMENT;
use crate::random;

/// The beginning of the names of pipes that a VM may be told of.
const PIPE: &str = r"\\.\pipe\hprof-attach-";
/// The time between two looks for a signal, and at the program.
const LOOK: Duration = Duration::from_millis(100);
/// What the VM's function returns if it takes the request, and if the VM does not allow attaching.
const TAKEN: u32 = 0;
const DISABLED: u32 = 100;

/// Sends one request, and waits so long for an answer of at most so many bytes.
pub fn request(
    process: &Process,
    command: &str,
    arguments: [&str; 3],
    (limit, longest): (Duration, u64),
) -> Result<Answer, Error> {
    let pid = process.pid();
    let mut lengths = arguments.iter().map(|text| text.len());
    if let Some(long) = lengths.find(|&length| length > LONGEST_ARGUMENT) {
        return Err(Error::TooLong(long));
    }
    let limit = Limit::start(pid, limit);
    let broken = |error| Error::Broken { pid, error };
    let (pipe, name) = pipe().map_err(broken)?;
    let (send, answered) = mpsc::channel();
    let read = move || {
        // If nobody waits any more, the answer is not wanted.
        let _ = send.send(pipe.read(longest + 1));
    };
    thread::Builder::new()
        .name("answer".to_owned())
        .spawn(read)
        .map_err(broken)?;
    // A zero in a text would end it there.
    let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
    let [first, second, third] = arguments.map(text);
    let texts = [&text(command), &first, &second, &third, &text(&name)];
    let call = process.call_vm(c"JVM_EnqueueOperation", texts.map(CString::as_c_str));
    let call = call.map_err(|error| match process.has_ended() {
        true => Error::Ended(pid),
        false => Error::Broken { pid, error },
    })?;
    loop {
        match call.wait(LOOK) {
            Some(TAKEN) => break,
            Some(DISABLED) => return Err(Error::Disabled(pid)),
            Some(_) => return Err(Error::NoWord(pid)),
            None if process.has_ended() => return Err(Error::Ended(pid)),
            None => limit.check()?,
        }
    }
    let said = loop {
        match answered.recv_timeout(LOOK) {
            Ok(said) => break said.map_err(broken)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::NoWord(pid)),
            Err(RecvTimeoutError::Timeout) if process.has_ended() => return Err(Error::Ended(pid)),
            Err(RecvTimeoutError::Timeout) => limit.check()?,
        }
    };
    if said.len() as u64 > longest {
        return Err(Error::TooMuch(pid));
    }
    match String::from_utf8_lossy(&said) {
        answer if !answer.is_empty() => Answer::parse(pid, &answer),
        _ if process.is_ending() => Err(Error::Ended(pid)),
        _ => Err(Error::NoWord(pid)),
    }
}

/// Creates a pipe of a name that nobody can guess.
fn pipe() -> std::io::Result<(AnswerPipe, String)> {
    let mut bytes = [0; 16];
    random::fill(&mut bytes)?;
    let name = format!("{PIPE}{:032x}", u128::from_le_bytes(bytes));
    Ok((AnswerPipe::create(&name)?, name))
}
