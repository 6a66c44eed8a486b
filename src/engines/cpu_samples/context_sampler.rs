//! `cpu=times,clock=samples`: the contexts that threads are in when they have used an interval of CPU time.

use std::sync::Arc;

use super::asynchronous::{AsyncSampler, SampleTarget, SamplerState};
use super::counts::SampleCounts;
use super::{Sampler, SamplingMethod};
use crate::engines::Context;
use jvmti::{Jni, JvmtiError, Object};
use names::thread::ThreadSerial;

/// The CPU time of all threads that counting their calls has taken so far.
pub struct CountingTime(Arc<SamplerState>);

impl CountingTime {
    /// Returns it in nanoseconds.
    pub fn nanos(&self) -> u64 {
        self.0.in_counting().saturating_mul(self.0.nanos())
    }
}

/// Charges each interval of a thread's CPU time to the context that its calls have led to
/// ([`jvmti::CallContexts`]).
pub struct ContextSampler(AsyncSampler);

impl ContextSampler {
    /// Creates a sampler; `None` if the method only takes stacks.
    pub fn new(context: &Context, method: SamplingMethod) -> Option<Self> {
        let SamplingMethod::Async(support) = method else {
            return None;
        };
        let counts = Arc::new(SampleCounts::new(false));
        let target = SampleTarget::Contexts;
        Some(Self(AsyncSampler::new(context, support, counts, target)))
    }

    /// Returns the time that a sample stands for.
    pub fn interval_nanos(&self) -> u64 {
        self.0.shared.nanos()
    }

    /// Returns the CPU time that was in no context.
    pub fn outside_nanos(&self, jni: Option<Jni<'_>>) -> u64 {
        self.0.fetch(jni);
        let samples = self.0.shared.without_context();
        samples.saturating_mul(self.interval_nanos())
    }

    /// Returns the time that counting calls takes; `None` in a VM where that cannot be told, and is in the contexts.
    pub fn counting_time(&self) -> Option<CountingTime> {
        self.0
            .shared
            .leaves_out_counting()
            .then(|| CountingTime(self.0.shared.clone()))
    }

    /// Begins to charge. The class that counts calls has been defined.
    pub fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.0.shared.leave_out_counting(jni);
        self.0.start(jni)
    }

    /// Charges nothing after it returns.
    pub fn stop(&self, jni: Jni<'_>) {
        self.0.stop(jni);
    }

    /// See [`Engine::thread_registered`](crate::engines::Engine::thread_registered).
    pub fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.0.thread_registered(jni, thread, serial);
    }

    /// See [`Engine::current_thread_ended`](crate::engines::Engine::current_thread_ended).
    pub fn current_thread_ended(&self, serial: ThreadSerial) {
        self.0.current_thread_ended(serial);
    }

    /// See [`Engine::thread_gone`](crate::engines::Engine::thread_gone).
    pub fn thread_gone(&self, serial: ThreadSerial) {
        self.0.thread_gone(serial);
    }
}
