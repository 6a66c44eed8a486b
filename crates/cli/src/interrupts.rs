//! What is done when somebody ends the command.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use hprof_os::signals;

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
            WAITING.call_once(|| drop(signals::when_asked_to_end(end_by)));
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

fn end_by(signal: i32) {
    let all = std::mem::take(&mut *lock());
    all.into_iter().for_each(|(_, last)| last());
    // It ends the process.
    signals::end_by(signal);
}

/// From now on, the first signal only interrupts what this command waits for; [`count`] gets them all.
pub fn are_counted() {
    ARE_COUNTED.store(true, Ordering::Relaxed);
}

/// Counts a signal that asks for an end. The second one ends the process. Only one thread calls this.
pub fn count(signal: i32) {
    if COUNT.load(Ordering::Relaxed) > 0 {
        // Not counted before: what waits for an answer would see the count and end the process in its own way.
        end_by(signal);
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of signals that have asked for an end.
pub fn counted() -> usize {
    COUNT.load(Ordering::Relaxed)
}
