//! Operations that some garbage collectors do not support.

use crate::jvmti::{BoolFlag, Env};

/// Returns `true` if forcing a collection in VMDeath would never return: ZGC and Shenandoah have stopped by then.
pub(super) fn cannot_gc_at_vm_death(env: Env) -> bool {
    let flags = env.flags();
    // If the VM's flags cannot be read, assume the worst.
    flags
        .is_none_or(|flags| flags.is_on(BoolFlag::UseZgc) || flags.is_on(BoolFlag::UseShenandoahGc))
}
