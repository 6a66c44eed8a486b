//! Clocks: those that are read at every event of a thread, and those that are read now and then.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::os::clock::{counter_is_good, monotonic};

/// A clock that is cheap to read and never stops. Only [`TickLength`] knows its unit.
///
/// Reads the processor's time stamp counter (9 ns) if the kernel itself keeps time by it, otherwise the system's clock (21 ns on
/// the same machine).
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    counter: bool,
}

/// The length of a tick in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct TickLength(f64);

/// A moment on both clocks, from which the length of a tick is measured.
#[derive(Clone, Copy, Debug)]
pub struct TickStart {
    clock: TickClock,
    ticks: u64,
    time: Instant,
}

/// The shortest time over which the length of a tick is measured, for a precision of one in 100,000.
const MEASURED: Duration = Duration::from_millis(5);
/// How often both clocks are read for one moment: the thread may have to wait between the two.
const READINGS: usize = 8;

impl TickClock {
    /// Chooses the best clock of this machine.
    pub fn choose() -> Self {
        static COUNTER: OnceLock<bool> = OnceLock::new();
        Self {
            counter: *COUNTER.get_or_init(counter_is_good),
        }
    }

    /// Returns the current time, in ticks.
    #[inline]
    pub fn ticks(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.counter {
            // SAFETY: every x86_64 processor has the instruction.
            return unsafe { std::arch::x86_64::_rdtsc() };
        }
        monotonic()
    }

    /// Begins to measure the length of a tick.
    pub fn begin(self) -> TickStart {
        let (ticks, time) = self.moment();
        TickStart {
            clock: self,
            ticks,
            time,
        }
    }

    /// One moment on both clocks.
    fn moment(self) -> (u64, Instant) {
        closest(|| self.ticks(), Instant::now)
    }
}

impl TickStart {
    /// Returns the length of a tick, from the time that has passed since the start; waits until that is long enough.
    pub fn length(self) -> TickLength {
        if !self.clock.counter {
            return TickLength(1.0);
        }
        if let Some(rest) = MEASURED.checked_sub(self.time.elapsed()) {
            std::thread::sleep(rest);
        }
        let (ticks, time) = self.clock.moment();
        let nanos = time.duration_since(self.time).as_nanos() as f64;
        let ticks = ticks.saturating_sub(self.ticks).max(1);
        TickLength(nanos / ticks as f64)
    }
}

/// Reads both clocks several times, and takes the reading between whose ticks the least has passed.
fn closest<T>(ticks: impl Fn() -> u64, time: impl Fn() -> T) -> (u64, T) {
    let read = || {
        let before = ticks();
        let time = time();
        let passed = ticks().saturating_sub(before);
        (passed, before + passed / 2, time)
    };
    let mut best = read();
    for _ in 1..READINGS {
        let other = read();
        if other.0 < best.0 {
            best = other;
        }
    }
    (best.1, best.2)
}

impl TickLength {
    /// Converts ticks to nanoseconds.
    pub fn nanos(self, ticks: u64) -> u64 {
        (ticks as f64 * self.0) as u64
    }

    /// Converts nanoseconds to ticks.
    pub fn ticks(self, nanos: u64) -> u64 {
        (nanos as f64 / self.0) as u64
    }
}

pub use crate::os::clock::{
    RunMark, ThreadCpuClock, cost_clock, current_tid, notices_every_run, own_cpu_time, own_stack,
    process_cpu_time,
};

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn ticks_are_time() {
        let start = TickClock::choose().begin();
        let length = start.length();
        let clock = TickClock::choose();
        // The ticks are read within `outer` and around `inner`, however long the thread has to wait in between.
        let outer = Instant::now();
        let first = clock.ticks();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        let least = inner.elapsed().as_nanos() as u64;
        let nanos = length.nanos(clock.ticks() - first);
        let most = outer.elapsed().as_nanos() as u64;
        assert!(
            nanos >= least - least / 100 && nanos <= most + most / 100,
            "{least} {nanos} {most}"
        );
        let back = length.ticks(length.nanos(1_000_000));
        assert!(back.abs_diff(1_000_000) < 10, "{back}");
    }

    #[test]
    fn a_thread_that_has_to_wait_between_the_clocks_reads_them_again() {
        // Reading a clock takes 2; the thread waits for 1,000 in each reading but the third.
        let now = Cell::new(0);
        let readings = Cell::new(0);
        let ticks = || now.replace(now.get() + 2);
        let time = || {
            readings.set(readings.get() + 1);
            let waits = if readings.get() == 3 { 0 } else { 1_000 };
            now.replace(now.get() + 2 + waits)
        };
        let (ticks, time) = closest(ticks, time);
        assert_eq!((ticks, time), (2_014, 2_014));
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_cpu_time() {
        let clock = ThreadCpuClock::of_current_thread().expect("a clock");
        let time = Instant::now();
        let before = (own_cpu_time(), clock.read().expect("alive"));
        std::thread::sleep(Duration::from_secs(1));
        let used = [
            own_cpu_time() - before.0,
            clock.read().expect("alive") - before.1,
        ];
        // A busy machine makes the sleep longer, but the thread's own CPU time stays small.
        let slept = time.elapsed().as_nanos() as u64;
        assert!(
            used.iter().all(|&used| used < slept / 2),
            "{used:?} of {slept}"
        );
    }

    #[test]
    fn the_stack_is_around_us() {
        let stack = own_stack().expect("a stack");
        let here = std::ptr::from_ref(&stack).addr();
        assert!(stack.contains(here));
    }
}
