//! What garbage collectors refuse.

use crate::jvmti::{BoolFlag, Env};

/// Whether forcing a collection in VMDeath never returns: ZGC and Shenandoah have stopped by then.
pub(super) fn cannot_gc_at_vm_death(env: Env) -> bool {
    let flags = env.flags();
    // A VM whose flags cannot be read is not to be risked.
    flags
        .is_none_or(|flags| flags.is_on(BoolFlag::UseZgc) || flags.is_on(BoolFlag::UseShenandoahGc))
}
