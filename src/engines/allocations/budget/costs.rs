//! The CPU time that tracking allocations costs the program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::sites::Weight;
use super::steps::Step;
use jvmti::{ThreadCpuClock, own_cpu_time, process_cpu_time};

/// The CPU time that an event takes in the VM in addition to the callback, in nanoseconds: 170 for the event, the rest for the
/// weak reference in the next collection (docs/measurements/performance.md).
const EVENT_IN_VM: u64 = 200;
/// Of so many events that a thread sends while every object is tracked, the time of one is measured: reading the thread's
/// clock takes as long as the callback.
const TIMED: u32 = 64;
/// How often the clock is read to find out what reading it takes.
const READINGS: usize = 32;

/// The costs of all threads since the beginning.
pub(in super::super) struct Costs {
    events: AtomicU64,
    /// Nanoseconds in callbacks, as far as they were measured, scaled to all events.
    callbacks: AtomicU64,
    /// Nanoseconds that threads waited for the sweeper, and those of collections that it forced.
    stops: AtomicU64,
    /// The objects and bytes that the events stand for.
    objects: AtomicU64,
    bytes: AtomicU64,
    sweeper: OnceLock<ThreadCpuClock>,
    /// The time for reading the clock twice.
    clock: u64,
}

/// The costs of one thread that have not been added to the others yet.
#[derive(Default)]
pub(in super::super) struct EventCosts {
    events: u32,
    weight: Weight,
}

/// The costs at a moment, or the difference between two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) events: f64,
    /// Objects and bytes that the program has allocated.
    pub(super) objects: f64,
    pub(super) bytes: f64,
    /// CPU time of the process, in nanoseconds.
    pub(super) process: f64,
    /// The part of it that each event took, and the rest of what tracking took.
    pub(super) of_events: f64,
    pub(super) others: f64,
}

impl Costs {
    pub(in super::super) fn new() -> Self {
        let readings = (0..READINGS).map(|_| {
            let before = own_cpu_time();
            own_cpu_time().saturating_sub(before)
        });
        Self {
            events: AtomicU64::default(),
            callbacks: AtomicU64::default(),
            stops: AtomicU64::default(),
            objects: AtomicU64::default(),
            bytes: AtomicU64::default(),
            sweeper: OnceLock::new(),
            clock: readings.min().unwrap_or(0),
        }
    }

    /// Called on the sweeper's thread: its CPU time counts.
    pub(in super::super) fn current_thread_sweeps(&self) {
        if let Some(clock) = ThreadCpuClock::of_current_thread() {
            let _ = self.sweeper.set(clock);
        }
    }

    /// Runs what the program's thread has to wait for.
    pub(in super::super) fn waiting(&self, body: impl FnOnce()) {
        let begin = Instant::now();
        body();
        self.add_stop(begin.elapsed());
    }

    /// Runs what the program would not have done, and what the whole process does meanwhile.
    pub(in super::super) fn forcing(&self, body: impl FnOnce()) {
        let before = process_cpu_time();
        body();
        self.add_stop(Duration::from_nanos(
            process_cpu_time().saturating_sub(before),
        ));
    }

    fn add_stop(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.stops.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(super) fn so_far(&self) -> Spent {
        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed) as f64;
        let sweeper = self.sweeper.get().and_then(|clock| clock.read());
        Spent {
            events: read(&self.events),
            objects: read(&self.objects) / Weight::ONE as f64,
            bytes: read(&self.bytes),
            process: process_cpu_time() as f64,
            of_events: read(&self.callbacks) + read(&self.events) * EVENT_IN_VM as f64,
            others: read(&self.stops) + sweeper.unwrap_or(0) as f64,
        }
    }
}

impl EventCosts {
    /// Runs `record`, which records an event of the current thread with that weight.
    #[inline]
    pub(in super::super) fn measure<T>(
        &mut self,
        costs: &Costs,
        step: Step,
        weight: Weight,
        record: impl FnOnce() -> T,
    ) -> T {
        self.events += 1;
        self.weight += weight;
        // Samples of the other steps are so rare that each can be timed.
        if self.events < TIMED && step == Step::default() {
            return record();
        }
        let before = own_cpu_time();
        let answer = record();
        let nanos = own_cpu_time().saturating_sub(before + costs.clock);
        // A sample takes longer than one of many events in a row, so it says nothing about those before it.
        let alike = if step == Step::default() {
            self.events
        } else {
            1
        };
        self.add_to(costs, nanos.saturating_mul(alike.into()));
        answer
    }

    fn add_to(&mut self, costs: &Costs, nanos: u64) {
        let Self { events, weight } = std::mem::take(self);
        let add = |sum: &AtomicU64, value| sum.fetch_add(value, Ordering::Relaxed);
        add(&costs.events, events.into());
        add(&costs.callbacks, nanos);
        add(&costs.objects, weight.instances);
        add(&costs.bytes, weight.bytes);
    }
}

impl std::ops::Sub for Spent {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let less = |now: f64, before: f64| (now - before).max(0.0);
        Self {
            events: less(self.events, before.events),
            objects: less(self.objects, before.objects),
            bytes: less(self.bytes, before.bytes),
            process: less(self.process, before.process),
            of_events: less(self.of_events, before.of_events),
            others: less(self.others, before.others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_counted_and_one_in_many_is_timed() {
        let costs = Costs::new();
        let mut thread = EventCosts::default();
        let exact = Step::default();
        for _ in 0..TIMED - 1 {
            thread.measure(&costs, exact, Weight::exact(24), || ());
        }
        assert_eq!(costs.so_far().events, 0.0, "they are the thread's own");
        thread.measure(&costs, exact, Weight::exact(24), || ());
        let spent = costs.so_far();
        let expected = f64::from(TIMED);
        assert_eq!((spent.events, spent.objects), (expected, expected));
        assert_eq!(spent.bytes, 24.0 * expected);
        assert!(spent.of_events >= expected * EVENT_IN_VM as f64);
        let sampled = Weight {
            instances: 10 * Weight::ONE,
            bytes: 240,
        };
        thread.measure(&costs, Step::new(1), sampled, || ());
        let later = costs.so_far() - spent;
        assert_eq!(
            (later.events, later.objects, later.bytes),
            (1.0, 10.0, 240.0)
        );
    }
}
