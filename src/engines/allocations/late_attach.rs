//! Coming to a VM that runs: its threads have allocation buffers, and have counted bytes towards another interval.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::jvmti::{
    AgentThreads, BoolFlag, BytesUntilSample, Env, Event, GcPause, Jni, JvmtiError, NumberFlag,
    VmFlags,
};
use crate::lock_order::{Mutex, rank};

/// JDK 11's flag for the size of what is left of a buffer that is worth keeping.
const WASTE: NumberFlag = NumberFlag::TlabRefillWasteFraction;
/// JDK 11's flag for buffers whose size follows the thread.
const RESIZE: BoolFlag = BoolFlag::ResizeTlab;

/// What is done to the VM for the while of a profile.
#[derive(Default)]
pub(super) struct LateStart {
    bytes_until_sample: Mutex<Option<BytesUntilSample>, rank::BytesUntilSample>,
    /// Whether the next collection clears the bytes until sample of all threads.
    is_due: AtomicBool,
    /// JDK 11: the flags as they were.
    flags: Mutex<Option<(VmFlags, usize, bool)>, rank::LateFlags>,
}

impl LateStart {
    /// Switches the events on so that from here on every allocation is told; `false` if some will not be.
    ///
    /// The first collection brings the threads' buffers to an end and clears their bytes until sample. Where that is not one step,
    /// because the program runs while garbage is collected or because a flag has to be changed in between, buffers that
    /// were handed out meanwhile are taken away by a second one.
    pub(super) fn exact(
        &self,
        env: Env,
        jni: Jni<'_>,
        agent_threads: &AgentThreads,
        is_concurrent: bool,
    ) -> Result<bool, JvmtiError> {
        let bytes_until_sample = BytesUntilSample::find(env, jni, agent_threads);
        let is_known = bytes_until_sample.is_some();
        *self.bytes_until_sample.lock() = bytes_until_sample;
        let is_lossy = env.vm_version().is_some_and(|version| version < 16);
        let keeps_none = !is_lossy || self.keep_no_buffer(env);
        env.enable(Event::GarbageCollection)?;
        env.enable(Event::Allocation)?;
        self.is_due.store(true, Ordering::SeqCst);
        env.force_garbage_collection()?;
        if let Some((flags, ..)) = &*self.flags.lock() {
            flags.switch(RESIZE, false);
        }
        if is_lossy || is_concurrent {
            env.force_garbage_collection()?;
        }
        Ok(is_known && keeps_none && !self.is_due.swap(false, Ordering::SeqCst))
    }

    /// See `super::keep_no_buffer`. A thread that has buffers takes the waste over with the first collection that gives
    /// buffers another size, so that goes on until then.
    fn keep_no_buffer(&self, env: Env) -> bool {
        let Some(flags) = env.flags() else {
            return false;
        };
        let Some(waste) = flags.number(WASTE) else {
            return false;
        };
        *self.flags.lock() = Some((flags, waste, flags.is_on(RESIZE)));
        flags.set(WASTE, 1) && flags.switch(RESIZE, true)
    }

    /// A collection is over.
    pub(super) fn gc_finished(&self, pause: GcPause<'_>) {
        if !self.is_due.load(Ordering::SeqCst) {
            return;
        }
        // Nobody holds this for longer than it takes to write it, so a lock that is taken is about to be free.
        let bytes_until_sample = self.bytes_until_sample.try_lock();
        if let Some(bytes_until_sample) = bytes_until_sample.and_then(|found| *found) {
            bytes_until_sample.clear(pause);
            self.is_due.store(false, Ordering::SeqCst);
        }
    }

    /// Puts the flags back.
    pub(super) fn give_back(&self) {
        if let Some((flags, waste, resize)) = self.flags.lock().take() {
            flags.set(WASTE, waste);
            flags.switch(RESIZE, resize);
        }
    }
}
