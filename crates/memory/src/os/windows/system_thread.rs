//! Threads of the system.

use std::ffi::CStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

/// The size of a thread's stack.
const STACK: usize = 1 << 20;

/// A thread that can be joined. If it is dropped, the thread continues alone.
pub struct SystemThread(JoinHandle<()>);

impl SystemThread {
    /// Runs `body` on a new thread. A panic ends only the thread, and is ignored.
    pub fn start(name: &'static CStr, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let builder = thread::Builder::new()
            .name(name.to_string_lossy().into_owned())
            .stack_size(STACK);
        let started = builder.spawn(move || {
            // The panic hook has reported it.
            let _ = catch_unwind(AssertUnwindSafe(body));
        });
        Ok(Self(started?))
    }

    /// Waits for the thread to end.
    pub fn join(self) {
        // A panic stays in the thread.
        let _ = self.0.join();
    }
}
