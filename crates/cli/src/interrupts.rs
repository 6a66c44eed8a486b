//! What is done when somebody ends the command.

use std::fs;
use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

/// Does something before the process ends by a signal, as long as this value lives.
pub struct BeforeTheEnd(Option<Handle>);

impl BeforeTheEnd {
    /// Starts to wait for signals that ask for an end. If it cannot wait, they end the process at once.
    pub fn call(last: impl FnOnce() + Send + 'static) -> BeforeTheEnd {
        BeforeTheEnd(wait(last).ok())
    }
}

fn wait(last: impl FnOnce() + Send + 'static) -> io::Result<Handle> {
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP]))?;
    let handle = signals.handle();
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            last();
            // It ends the process.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)?;
    Ok(handle)
}

impl Drop for BeforeTheEnd {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}

/// Returns those of the signals that this process was not started to ignore (`nohup`, a shell's background).
pub fn not_ignored(signals: &[i32]) -> impl Iterator<Item = i32> {
    let ignored = ignored();
    let signals = signals.iter().copied();
    signals.filter(move |signal| ignored & (1 << (signal - 1)) == 0)
}

/// Returns the mask of the signals that this process ignores.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}
