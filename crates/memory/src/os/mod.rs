//! What the agent's memory needs of an operating system: memory for large blocks, values of threads, threads. This folder chooses
//! between the systems, and nothing else here does.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::key::Key;
pub(crate) use system::{current_thread, discard, map, pause, resize, unmap};

pub use system::return_free_memory;
pub use system::system_thread::SystemThread;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_thread_is_waited_for_and_a_panic_stays_in_it() {
        let count = Arc::new(AtomicU32::new(0));
        let threads: Vec<SystemThread> = (0..4)
            .map(|number| {
                let count = count.clone();
                let body = move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    assert!(number != 3, "quietly");
                };
                SystemThread::start(c"test", body).expect("a thread")
            })
            .collect();
        threads.into_iter().for_each(SystemThread::join);
        assert_eq!(count.load(Ordering::Relaxed), 4);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
