//! The end of the process where the VM says nothing of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;

/// What is to be done, and the process that it is for.
static AT_EXIT: OnceLock<(fn(), u32)> = OnceLock::new();

/// Has `action` run when the process calls `exit` or its `main` returns, on the thread that does so, while all others run on.
/// Not where a signal or `_exit` ends it, nor in a child that was forked. Only the first one counts.
///
/// The handlers of a process run in the opposite order of their registration: this one before the destructors of the VM's
/// library, which was loaded earlier.
pub fn at_process_exit(action: fn()) {
    AT_EXIT.get_or_init(|| {
        // SAFETY: the function takes nothing, does not unwind, and stays where it is: the VM unloads no agent that has begun.
        // Where the system has no room for it, the process ends without it.
        unsafe { libc::atexit(on_exit) };
        (action, process::id())
    });
}

extern "C" fn on_exit() {
    if let Some(&(action, owner)) = AT_EXIT.get()
        && owner == process::id()
    {
        // The panic hook has reported it.
        let _ = catch_unwind(AssertUnwindSafe(action));
    }
}
