//! What is done when somebody ends the command.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

type Last = Box<dyn FnOnce() + Send>;

/// What is to be done before the process ends by a signal.
static LAST: Mutex<Vec<(usize, Last)>> = Mutex::new(Vec::new());
static WAITING: Once = Once::new();
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// Set if a thread counts the signals that ask for an end, and ends the process by the second.
static ARE_COUNTED: AtomicBool = AtomicBool::new(false);
/// The number of signals that have asked for an end.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Does something before the process ends by a signal, as long as this value lives.
pub struct BeforeTheEnd(usize);

impl BeforeTheEnd {
    /// Waits from now on for signals that ask for an end. If it cannot wait, they end the process at once.
    pub fn call(last: impl FnOnce() + Send + 'static) -> BeforeTheEnd {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        lock().push((number, Box::new(last)));
        if !ARE_COUNTED.load(Ordering::Relaxed) {
            // It waits to the end of the process: a signal that was caught once does nothing by itself any more.
            WAITING.call_once(|| drop(wait()));
        }
        BeforeTheEnd(number)
    }
}

impl Drop for BeforeTheEnd {
    fn drop(&mut self) {
        lock().retain(|&(number, _)| number != self.0);
    }
}

fn lock() -> MutexGuard<'static, Vec<(usize, Last)>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait() -> io::Result<()> {
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP]))?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            end_by(signal);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)?;
    Ok(())
}

fn end_by(signal: i32) {
    let all = std::mem::take(&mut *lock());
    all.into_iter().for_each(|(_, last)| last());
    // It ends the process.
    let _ = emulate_default_handler(signal);
}

/// From now on, the first signal only interrupts what this command waits for; [`count`] gets them all.
pub fn are_counted() {
    ARE_COUNTED.store(true, Ordering::Relaxed);
}

/// Counts a signal that asks for an end. The second one ends the process.
pub fn count(signal: i32) {
    if COUNT.fetch_add(1, Ordering::Relaxed) > 0 {
        end_by(signal);
    }
}

/// Returns the number of signals that have asked for an end.
pub fn counted() -> usize {
    COUNT.load(Ordering::Relaxed)
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
