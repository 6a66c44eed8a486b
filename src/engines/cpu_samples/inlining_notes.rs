//! The notes that the VM's compilers leave of which methods are inlined at an instruction. They leave them at safepoints alone, unless
//! `-XX:+DebugNonSafepoints` is on; a sample between two would go to the method that the others are inlined into.
//!
//! The VM turns the flag on by itself for whoever wants the event of compiled methods. It then sends all these notes with each
//! event, which on the Closure compiler took 3 % of the CPU time.

use crate::jvmti::{BoolFlag, Env, VmFlags};
use crate::lock_order::{Mutex, rank};

const NOTES: BoolFlag = BoolFlag::DebugNonSafepoints;

/// Has them left at every instruction for the while of a profile.
#[derive(Default)]
pub(super) struct InliningNotes {
    /// The flags of a VM in which the flag was off.
    switched: Mutex<Option<VmFlags>, rank::InliningNotes>,
}

impl InliningNotes {
    /// From here on. What has been compiled before has none, and whoever gave the flag on the command line has it so.
    pub(super) fn leave(&self, env: Env) {
        let mut switched = self.switched.lock();
        if switched.is_some() {
            return;
        }
        let Some(flags) = env.flags() else { return };
        if flags.is_default(NOTES) && !flags.is_on(NOTES) && flags.switch(NOTES, true) {
            *switched = Some(flags);
        }
    }

    /// Puts the flag back.
    pub(super) fn give_back(&self) {
        if let Some(flags) = self.switched.lock().take() {
            flags.switch(NOTES, false);
        }
    }
}

impl Drop for InliningNotes {
    fn drop(&mut self) {
        // A session that could not begin.
        self.give_back();
    }
}
