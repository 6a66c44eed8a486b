//! The notes that the VM's compilers leave of which methods are inlined at an instruction. They leave them at safepoints alone, unless
//! `-XX:+DebugNonSafepoints` is on; a sample between two would go to the method that the others are inlined into.
//!
//! The VM leaves them by itself for whoever wants the event of compiled methods. It then sends all these notes with each
//! event, which on the Closure compiler took 3 % of the CPU time.

use crate::jvmti::{BoolFlag, Env};

const NOTES: BoolFlag = BoolFlag::DebugNonSafepoints;

/// Has them left at every instruction from here on. What has been compiled before has none, and whoever gave the flag on the
/// command line has it so.
///
/// The flag stays on when the profile ends. Another profiler that came meanwhile has found it on, or switched it on itself,
/// which leaves no trace; it goes on and relies on it. Nobody but the one who started the VM ever switches it off.
pub(super) fn leave(env: Env) {
    if let Some(flags) = env.settable_flags()
        && flags.flags().is_default(NOTES)
    {
        flags.switch(NOTES, true);
    }
}
