//! Operations that some garbage collectors do not support, or support better than others.

use jvmti::{BoolFlag, Env, Jni};

/// Returns `true` if forcing a collection in VMDeath would never return: ZGC and Shenandoah have stopped by then.
pub(super) fn cannot_gc_at_vm_death(env: Env) -> bool {
    let flags = env.flags();
    // If the VM's flags cannot be read, assume the worst.
    flags
        .is_none_or(|flags| flags.is_on(BoolFlag::UseZgc) || flags.is_on(BoolFlag::UseShenandoahGc))
}

/// Has G1 collect while the program runs, which it stops only for the young collection at the beginning and for moments later.
/// Does nothing with other collectors, where the VM's flags cannot be set, and if the program may not ask for collections.
pub(super) fn collect_concurrently(env: Env, jni: Jni<'_>) {
    const BESIDE: BoolFlag = BoolFlag::ExplicitGcInvokesConcurrent;
    let Some(settable) = env.settable_flags() else {
        return;
    };
    if !settable.flags().is_on(BoolFlag::UseG1Gc) {
        return;
    }
    let was_on = settable.flags().is_on(BESIDE);
    if settable.switch(BESIDE, true) {
        jni.collect_garbage();
        settable.switch(BESIDE, was_on);
    }
}
