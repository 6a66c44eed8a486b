//! Ctrl-C, Ctrl-Break, and the end of the console or the session.

use std::io;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

/// The status of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 0xC000_013A_u32.cast_signed();

type Asked = Box<dyn FnMut() + Send>;

/// What is called, in the order in which it was added.
static ASKED: Mutex<Vec<Asked>> = Mutex::new(Vec::new());
static HANDLER: Once = Once::new();

/// Calls `end` on a thread of its own when somebody asks for the end of the process, with the status that it should have.
///
/// # Errors
/// If there can be no handler.
pub fn when_asked_to_end(end: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    let mut end = Some(end);
    each_time_asked_to_end(move || {
        if let Some(end) = end.take() {
            end(INTERRUPTED);
        }
    })
}

/// Calls `asked` on a thread of its own each time that somebody asks for the end of the process.
///
/// # Errors
/// If there can be no handler; then Ctrl-C ends the process at once.
pub fn each_time_asked_to_end(asked: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut set = Ok(());
    HANDLER.call_once(|| {
        // SAFETY: the function is there to the end of the process. The system calls it on a thread that it starts for it.
        if unsafe { SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            set = Err(io::Error::last_os_error());
        }
    });
    let mut all = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(Box::new(asked));
    set
}

/// Returns 1 for what was handled.
unsafe extern "system" fn handle(event: u32) -> BOOL {
    let mut all = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter_mut().for_each(|asked| asked());
    drop(all);
    if !matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        // The console is closed or the user logs off: the system ends the process when this function returns, or some
        // seconds after the event. Until then the other threads can finish what they write.
        loop {
            thread::park();
        }
    }
    1
}

/// Ends the process as Ctrl-C does where nobody catches it.
pub fn end_by(status: i32) {
    std::process::exit(status);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn each_request_is_heard_by_all() {
        let (sender, received) = mpsc::channel();
        let another = sender.clone();
        each_time_asked_to_end(move || sender.send(1).expect("it is received")).expect("a handler");
        when_asked_to_end(move |status| another.send(status).expect("it is received"))
            .expect("a handler");
        for _ in 0..2 {
            // SAFETY: as the system calls it.
            assert_eq!(unsafe { handle(CTRL_BREAK_EVENT) }, 1);
        }
        let heard: Vec<_> = received.try_iter().collect();
        assert_eq!(heard, [1, INTERRUPTED, 1]);
    }
}
