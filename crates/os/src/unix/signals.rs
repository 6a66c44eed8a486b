//! Signals that ask for the end of the process.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Calls `end` on a thread of its own when somebody asks for the end of the process, with the number of the signal.
///
/// # Errors
/// If there can be no handler or no thread; then a signal ends the process at once.
pub fn when_asked_to_end(end: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP]))?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            end(signal);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)?;
    Ok(())
}

/// Calls `asked` on a thread of its own each time that somebody asks for the end of the process: by those signals as well that
/// the process was started to ignore, as scripts have what they start in the background ignore SIGINT.
///
/// # Errors
/// If there can be no handler or no thread; then a signal ends the process at once.
pub fn each_time_asked_to_end(mut asked: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| asked()))?;
    Ok(())
}

/// Ends the process as a signal does that nobody has caught.
pub fn end_by(signal: i32) {
    // It ends the process.
    let _ = emulate_default_handler(signal);
}

/// Returns those of the signals that this process was not started to ignore (`nohup`, a shell's background).
pub fn not_ignored(signals: &[i32]) -> impl Iterator<Item = i32> {
    let ignored = super::own::ignored();
    let signals = signals.iter().copied();
    signals.filter(move |signal| ignored & (1 << (signal - 1)) == 0)
}
