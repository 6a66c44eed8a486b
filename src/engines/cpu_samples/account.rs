//! Turns CPU time into whole samples.

/// One thread's CPU time that has not become samples yet.
///
/// The remainder after a whole sample is kept for the next, so the number of a thread's samples never differs from its
/// CPU time by as much as one. A thread starts with a random fraction of a sample: it has one sample for every interval
/// it used *on average*, and a thousand threads that used a tenth of an interval each do not vanish.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// CPU time of the thread when last charged, in nanoseconds.
    seen: u64,
    /// CPU time not yet charged, in nanoseconds, less than an interval.
    left: u64,
}

impl Account {
    /// Opens an account that charges the time from `cpu_time` on. `chance` may be any number, and should be uniformly
    /// distributed.
    pub(super) fn open(cpu_time: u64, interval: u64, chance: u64) -> Self {
        Self {
            seen: cpu_time,
            left: chance % interval,
        }
    }

    /// Skips the time up to now without charging it.
    pub(super) fn skip(&mut self, cpu_time: u64) {
        self.seen = self.seen.max(cpu_time);
    }

    /// Returns the CPU time until the next sample is due, in nanoseconds.
    pub(super) fn until_next(&self, interval: u64) -> u64 {
        interval - self.left
    }

    /// Returns the number of whole samples due, now that the thread has used `cpu_time` in total.
    pub(super) fn charge(&mut self, cpu_time: u64, interval: u64) -> u64 {
        self.left += cpu_time.saturating_sub(self.seen);
        self.seen = self.seen.max(cpu_time);
        let samples = self.left / interval;
        self.left %= interval;
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_used_is_nothing_charged() {
        let mut account = Account::open(5_000, 100, 99);
        assert_eq!(
            (account.charge(5_000, 100), account.charge(5_000, 100)),
            (0, 0)
        );
    }

    #[test]
    fn samples_never_drift_from_the_time_used() {
        let mut account = Account::open(0, 1_000, 0);
        let mut charged = 0;
        for step in 1..=10_000 {
            charged += account.charge(step * 337, 1_000);
            assert_eq!(charged, step * 337 / 1_000);
        }
    }

    #[test]
    fn a_clock_that_steps_back_charges_nothing_twice() {
        let mut account = Account::open(0, 10, 0);
        assert_eq!(account.charge(100, 10), 10);
        assert_eq!(account.charge(40, 10), 0);
        assert_eq!(account.charge(100, 10), 0);
        assert_eq!(account.charge(110, 10), 1);
    }

    #[test]
    fn skipped_time_is_never_charged() {
        let mut account = Account::open(0, 10, 0);
        account.skip(1_000);
        assert_eq!(account.charge(1_009, 10), 0);
        assert_eq!(account.charge(1_010, 10), 1);
    }

    #[test]
    fn threads_too_short_for_a_sample_get_theirs_on_average() {
        let charged: u64 = (0..1_000)
            .map(|chance| Account::open(0, 1_000, chance).charge(100, 1_000))
            .sum();
        assert_eq!(charged, 100);
    }
}
