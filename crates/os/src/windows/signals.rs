//! Ctrl-C, Ctrl-Break, and the end of the console or the session.

use std::io;
use std::sync::Mutex;

/// The status of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 0xC000_013A_u32.cast_signed();

/// Calls `end` on a thread of its own when somebody asks for the end of the process, with the status that it should have.
///
/// # Errors
/// If there can be no handler, or there is one already.
pub fn when_asked_to_end(end: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    let end = Mutex::new(Some(end));
    let handler = move || {
        let end = end.lock().ok().and_then(|mut end| end.take());
        if let Some(end) = end {
            end(INTERRUPTED);
        }
    };
    ctrlc::try_set_handler(handler).map_err(io::Error::other)
}

/// Ends the process as Ctrl-C does where nobody catches it.
pub fn end_by(status: i32) {
    std::process::exit(status);
}
