//! The compilers' debug information about which methods are inlined at an instruction. By default they record it only
//! at safepoints, unless `-XX:+DebugNonSafepoints` is on; a sample between two safepoints would be charged to the
//! method that the others are inlined into.
//!
//! The VM turns the flag on by itself for an agent that enables the event for compiled methods. But it then sends all
//! this information with each event, which took 3 % of the CPU time on the Closure compiler.

use jvmti::{BoolFlag, Env};

const NOTES: BoolFlag = BoolFlag::DebugNonSafepoints;

/// Makes the compilers record it at every instruction from here on. Code compiled earlier lacks it, unless the flag
/// was given on the command line.
///
/// The flag stays on when the profile ends. Another profiler that has started in the meantime may have found it on, or
/// turned it on itself, which leaves no trace, and relies on it. Only the user who started the VM ever turns it off.
pub(super) fn leave(env: Env) {
    if let Some(flags) = env.settable_flags()
        && flags.flags().is_default(NOTES)
    {
        flags.switch(NOTES, true);
    }
}
