//! Tracking that starts in a running VM, whose threads already have allocation buffers and have counted bytes towards
//! another sampling interval.

use std::sync::atomic::{AtomicBool, Ordering};

use super::buffer_flags::BufferFlags;
use crate::engines::gc::collect_concurrently;
use jvmti::{AgentThreads, BytesUntilSample, Env, Event, GcPause, Jni, JvmtiError};
use locks::{Mutex, rank};

/// The changes made to the VM for the duration of a profile.
#[derive(Default)]
pub(super) struct LateStart {
    bytes_until_sample: Mutex<Option<BytesUntilSample>, rank::BytesUntilSample>,
    /// `true` if the next collection must clear the bytes until sample of all threads.
    is_due: AtomicBool,
}

impl LateStart {
    /// Enables the events so that every allocation from here on sends one; returns `false` if some will not.
    ///
    /// The first collection retires the threads' buffers and clears their bytes until sample. If that is not a single
    /// step, because the garbage collector is concurrent or because a flag has to be changed in between, a second
    /// collection retires the buffers that were handed out in the meantime.
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
        let is_lossy = env.vm_kind().loses_allocations_outside_buffers();
        let keeps_none = !is_lossy || buffer_flags.keep_none_after_resizing(env);
        env.enable(Event::GarbageCollection)?;
        env.enable(Event::Allocation)?;
        self.is_due.store(true, Ordering::SeqCst);
        // On VMs where one collection is enough, its first pause is: that of a full one may be a hundred times as long.
        if !is_lossy {
            collect_concurrently(env, jni);
        }
        if self.is_due.load(Ordering::SeqCst) {
            env.force_garbage_collection()?;
        }
        let keeps_none = keeps_none && (!is_lossy || buffer_flags.resize_no_more());
        if is_lossy || is_concurrent {
            env.force_garbage_collection()?;
        }
        Ok(is_known && keeps_none && !self.is_due.swap(false, Ordering::SeqCst))
    }

    /// Called when a collection is over.
    pub(super) fn gc_finished(&self, pause: GcPause<'_>) {
        if !self.is_due.load(Ordering::SeqCst) {
            return;
        }
        // The lock is held only while the value is written, so if it is taken it is about to be free.
        let bytes_until_sample = self.bytes_until_sample.try_lock();
        if let Some(bytes_until_sample) = bytes_until_sample.and_then(|found| *found) {
            bytes_until_sample.clear(pause);
            self.is_due.store(false, Ordering::SeqCst);
        }
    }
}
