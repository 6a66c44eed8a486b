//! The rounds of a sampler of elapsed time.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

/// Divides the time since its beginning into rounds of one interval each.
pub(super) struct IntervalClock {
    interval: Duration,
    began: OnceLock<Instant>,
}

impl IntervalClock {
    /// Creates a clock that does not move until it begins.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            began: OnceLock::new(),
        }
    }

    pub(super) fn begin(&self) {
        let _ = self.began.set(Instant::now());
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the interval in nanoseconds, at least 1.
    pub(super) fn nanos(&self) -> u64 {
        let nanos = u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX);
        nanos.max(1)
    }

    /// Returns the length of this many rounds.
    pub(super) fn length_of(&self, rounds: u64) -> Duration {
        Duration::from_nanos(rounds.saturating_mul(self.nanos()))
    }

    /// Returns the number of intervals that have passed since the beginning.
    pub(super) fn round(&self) -> u64 {
        let passed = self.began.get().map_or(Duration::ZERO, Instant::elapsed);
        let rounds = passed.as_nanos() / u128::from(self.nanos());
        u64::try_from(rounds).unwrap_or(u64::MAX)
    }

    /// Returns a moment within a round: any, so that a program that does the same at a like interval is not always seen
    /// at the same place.
    pub(super) fn moment_in(&self, round: u64) -> Instant {
        let moment = FixedState::default().hash_one(round) % self.nanos();
        self.start_of(round) + Duration::from_nanos(moment)
    }

    /// Returns the moment at which a round begins.
    pub(super) fn start_of(&self, round: u64) -> Instant {
        let began = self.began.get().copied().unwrap_or_else(Instant::now);
        began + self.length_of(round)
    }
}
