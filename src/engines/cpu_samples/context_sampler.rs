//! `cpu=times,clock=samples`: the contexts that threads are in when they have used an interval of CPU time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::asynchronous::{AsyncSampler, SampleTarget, SamplerState};
use super::counts::SampleCounts;
use super::{Sampler, SamplingMethod};
use crate::engines::{Context, Totals};
use jvmti::{Jni, JvmtiError, Object};
use names::thread::ThreadSerial;

/// The CPU time that all threads have spent on counting their calls so far.
pub struct CountingTime(Arc<SamplerState>);

impl CountingTime {
    /// Returns it in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let samples = self.0.in_counting().unwrap_or(0);
        samples.saturating_mul(self.0.nanos())
    }
}

/// Charges each interval of a thread's CPU time to the context that its calls have led to
/// ([`jvmti::CallContexts`]).
pub struct ContextSampler {
    sampler: AsyncSampler,
    /// The time in no context up to the last reset, in nanoseconds.
    reported_outside: AtomicU64,
    /// The time spent on counting up to the last reset, in nanoseconds.
    reported_counting: AtomicU64,
}

impl ContextSampler {
    /// Creates a sampler; `None` if the method only takes stacks.
    pub fn new(context: &Context, method: SamplingMethod) -> Option<Self> {
        let SamplingMethod::Async(support) = method else {
            return None;
        };
        let counts = Arc::new(SampleCounts::new(false));
        let target = SampleTarget::Contexts;
        Some(Self {
            sampler: AsyncSampler::new(context, support, counts, target),
            reported_outside: AtomicU64::new(0),
            reported_counting: AtomicU64::new(0),
        })
    }

    /// Returns the time that a sample stands for.
    pub fn interval_nanos(&self) -> u64 {
        self.sampler.shared.nanos()
    }

    /// Returns the CPU time that was in no context since the last reset.
    pub fn outside_nanos(&self, jni: Option<Jni<'_>>, totals: Totals) -> u64 {
        self.sampler.fetch(jni);
        let samples = self.sampler.shared.without_context();
        let nanos = samples.saturating_mul(self.interval_nanos());
        since_reset(nanos, &self.reported_outside, totals)
    }

    /// Returns the CPU time spent on counting calls since the last reset; `None` if it is charged to the contexts.
    pub fn counting_nanos(&self, totals: Totals) -> Option<u64> {
        let nanos = self.counting_time()?.nanos();
        Some(since_reset(nanos, &self.reported_counting, totals))
    }

    /// Returns the time spent on counting calls; `None` if it is charged to the contexts.
    pub fn counting_time(&self) -> Option<CountingTime> {
        let shared = &self.sampler.shared;
        shared.in_counting().map(|_| CountingTime(shared.clone()))
    }

    /// Begins to charge. The class that counts calls has been defined.
    pub fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        self.sampler.shared.leave_out_counting(jni);
        self.sampler.start(jni)
    }

    /// Charges nothing after it returns.
    pub fn stop(&self, jni: Jni<'_>) {
        self.sampler.stop(jni);
    }

    /// See [`Engine::thread_registered`](crate::engines::Engine::thread_registered).
    pub fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        self.sampler.thread_registered(jni, thread, serial);
    }

    /// See [`Engine::current_thread_ended`](crate::engines::Engine::current_thread_ended).
    pub fn current_thread_ended(&self, serial: ThreadSerial) {
        self.sampler.current_thread_ended(serial);
    }

    /// See [`Engine::thread_gone`](crate::engines::Engine::thread_gone).
    pub fn thread_gone(&self, serial: ThreadSerial) {
        self.sampler.thread_gone(serial);
    }
}

/// Returns the part of `nanos` that was not there at the last reset, and begins anew if `totals` is to be reset.
fn since_reset(nanos: u64, reported: &AtomicU64, totals: Totals) -> u64 {
    let before = match totals.start_anew() {
        true => reported.swap(nanos, Ordering::Relaxed),
        false => reported.load(Ordering::Relaxed),
    };
    nanos.saturating_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reported_before_a_reset_is_not_reported_again() {
        let reported = AtomicU64::new(0);
        assert_eq!(since_reset(30, &reported, Totals::Keep), 30);
        assert_eq!(since_reset(40, &reported, Totals::Reset), 40);
        assert_eq!(since_reset(45, &reported, Totals::Keep), 5);
        assert_eq!(since_reset(50, &reported, Totals::EndPeriod), 10);
        assert_eq!(since_reset(50, &reported, Totals::Keep), 0);
    }
}
