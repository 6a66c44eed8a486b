//! The end of the process without an event from the VM.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;

/// The action at the end, and the process that it is for.
static AT_EXIT: OnceLock<(fn(), u32)> = OnceLock::new();

/// Runs `action` when the process calls `exit` or its `main` returns, on the thread that does so, while all others keep
/// running. Not if a signal or `_exit` ends the process, nor in a forked child. Only the first action counts.
///
/// The handlers of a process run in reverse order of registration: this one before the destructors of the VM's library,
/// which was loaded earlier.
pub fn at_process_exit(action: fn()) {
    AT_EXIT.get_or_init(|| {
        // SAFETY: the function takes nothing, does not unwind, and stays where it is: the VM unloads no agent that has
        // begun. If the system has no room for the handler, the process ends without it.
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
