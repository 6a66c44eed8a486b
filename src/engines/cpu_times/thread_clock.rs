//! The time that a thread spends between two of its events.

use std::sync::atomic::{AtomicU64, Ordering};

use jvmti::{ThreadCpuClock, TickClock, TickLength, own_cpu_time};
use options::Clock;

/// The gap between two events of a thread from which the CPU clock is read: reading it is a system call, and a thread
/// that left the CPU is usually away for longer than this.
const LONG_GAP_NANOS: u64 = 100_000;

/// The method of measuring time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) clock: Clock,
    pub(super) ticks: TickClock,
    pub(super) length: TickLength,
}

/// The clock of one thread. Only that thread writes it; others read it.
pub(super) struct ThreadClock {
    timing: Timing,
    long_gap: u64,
    /// The last event.
    last: AtomicU64,
    /// The time of the last reading of the thread's CPU clock, and its value, in nanoseconds.
    read_at: AtomicU64,
    read: AtomicU64,
    cpu: Option<ThreadCpuClock>,
}

impl ThreadClock {
    /// Starts a clock for the current thread.
    pub(super) fn start(timing: Timing) -> Self {
        let now = timing.ticks.ticks();
        let long_gap = match timing.clock {
            Clock::Cpu | Clock::Samples | Clock::Auto => timing.length.ticks(LONG_GAP_NANOS),
            Clock::Wall => u64::MAX,
        };
        Self {
            timing,
            long_gap,
            last: AtomicU64::new(now),
            read_at: AtomicU64::new(now),
            read: AtomicU64::new(own_cpu_time()),
            cpu: ThreadCpuClock::of_current_thread(),
        }
    }

    /// Returns the ticks since the last event of the current thread, which must be the clock's owner, without those off
    /// the CPU.
    #[inline]
    pub(super) fn pass(&self) -> u64 {
        let now = self.timing.ticks.ticks();
        let gap = now.saturating_sub(self.last.load(Ordering::Relaxed));
        self.last.store(now, Ordering::Relaxed);
        if gap > self.long_gap {
            return self.on_cpu(now, gap);
        }
        gap
    }

    #[cold]
    fn on_cpu(&self, now: u64, gap: u64) -> u64 {
        let cpu = own_cpu_time();
        let rest = self.without_waiting(now, gap, cpu);
        self.read_at.store(now, Ordering::Relaxed);
        self.read.store(cpu, Ordering::Relaxed);
        rest
    }

    /// Subtracts from a gap that ends now the time off the CPU since the CPU clock was last read.
    fn without_waiting(&self, now: u64, gap: u64, cpu: u64) -> u64 {
        let passed = now.saturating_sub(self.read_at.load(Ordering::Relaxed));
        let used = cpu.saturating_sub(self.read.load(Ordering::Relaxed));
        let waited = passed.saturating_sub(self.timing.length.ticks(used));
        gap.saturating_sub(waited)
    }

    /// Returns, for other threads, the ticks since the last event of this thread, without those off the CPU.
    pub(super) fn since_last(&self) -> u64 {
        let now = self.timing.ticks.ticks();
        let gap = now.saturating_sub(self.last.load(Ordering::Relaxed));
        match self.timing.clock {
            Clock::Wall => gap,
            // A thread that has ended has no clock any more, and had its last event earlier.
            Clock::Cpu | Clock::Samples | Clock::Auto => {
                match self.cpu.and_then(ThreadCpuClock::read) {
                    Some(cpu) => self.without_waiting(now, gap, cpu),
                    None => 0,
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    pub(in crate::engines::cpu_times) fn timing(clock: Clock) -> Timing {
        let ticks = TickClock::choose();
        Timing {
            clock,
            ticks,
            length: ticks.begin().length(),
        }
    }

    fn slept(clock: Clock) -> u64 {
        let timing = timing(clock);
        let clock = ThreadClock::start(timing);
        std::thread::sleep(Duration::from_millis(100));
        timing.length.nanos(clock.pass())
    }

    #[test]
    fn sleep_is_no_cpu_time() {
        assert!(slept(Clock::Cpu) < 50_000_000);
        assert!(slept(Clock::Wall) > 99_000_000);
    }

    #[test]
    fn work_is_cpu_time() {
        let timing = timing(Clock::Cpu);
        let most_before = own_cpu_time();
        let clock = ThreadClock::start(timing);
        // `least` is read within the clock's two readings and `most` around them, however long the thread has to wait
        // in between.
        let least_before = own_cpu_time();
        while own_cpu_time() - least_before < 50_000_000 {
            std::hint::spin_loop();
        }
        let least = own_cpu_time() - least_before;
        let open = timing.length.nanos(clock.since_last());
        let passed = timing.length.nanos(clock.pass());
        let most = own_cpu_time() - most_before;
        for measured in [open, passed] {
            assert!(
                measured >= least - least / 20 && measured <= most + most / 20,
                "{least} {measured} {most}"
            );
        }
    }
}
