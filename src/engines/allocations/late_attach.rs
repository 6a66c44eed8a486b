//! Coming to a VM that runs: its threads have allocation buffers, and have counted bytes towards another interval.

use std::sync::atomic::{AtomicBool, Ordering};

use super::buffer_flags::BufferFlags;
use crate::jvmti::{AgentThreads, BytesUntilSample, Env, Event, GcPause, Jni, JvmtiError};
use crate::lock_order::{Mutex, rank};

/// What is done to the VM for the while of a profile.
#[derive(Default)]
pub(super) struct LateStart {
    bytes_until_sample: Mutex<Option<BytesUntilSample>, rank::BytesUntilSample>,
    /// Whether the next collection clears the bytes until sample of all threads.
    is_due: AtomicBool,
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
        buffer_flags: &BufferFlags,
        is_concurrent: bool,
    ) -> Result<bool, JvmtiError> {
        let bytes_until_sample = BytesUntilSample::find(env, jni, agent_threads);
        let is_known = bytes_until_sample.is_some();
        *self.bytes_until_sample.lock() = bytes_until_sample;
        let is_lossy = env.vm_kind().loses_allocations_beside_buffers();
        let keeps_none = !is_lossy || buffer_flags.keep_none_after_resizing(env);
        env.enable(Event::GarbageCollection)?;
        env.enable(Event::Allocation)?;
        self.is_due.store(true, Ordering::SeqCst);
        env.force_garbage_collection()?;
        let keeps_none = keeps_none && (!is_lossy || buffer_flags.resize_no_more());
        if is_lossy || is_concurrent {
            env.force_garbage_collection()?;
        }
        Ok(is_known && keeps_none && !self.is_due.swap(false, Ordering::SeqCst))
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
}
