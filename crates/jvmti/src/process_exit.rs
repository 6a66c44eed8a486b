//! The end of the process without an event from the VM.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;

use super::os::process_exit as system;

/// The action at the end, and the process that it is for.
static AT_EXIT: OnceLock<(fn(), u32)> = OnceLock::new();

/// The code that has called `exit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCaller {
    /// The VM, which cannot go on.
    Vm,
    /// The program's native code, or the launcher at the end of its `main`.
    Other,
}

/// On Linux, runs `action` when the process calls `exit` or its `main` returns, on the thread that does so, while all others keep
/// running. Not if a signal or `_exit` ends the process, nor in a forked child. Only the first action counts.
///
/// The handlers of a process run in reverse order of registration: this one before the destructors of the VM's library,
/// which was loaded earlier.
pub fn at_process_exit(action: fn()) {
    AT_EXIT.get_or_init(|| {
        system::at_exit(on_exit);
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

impl ExitCaller {
    /// Finds the caller on the stack of the current thread, which is in the action of [`at_process_exit`].
    pub fn find() -> Self {
        match system::vm_calls_exit() {
            true => Self::Vm,
            false => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_vm_has_called_a_test() {
        assert_eq!(ExitCaller::find(), ExitCaller::Other);
    }
}
