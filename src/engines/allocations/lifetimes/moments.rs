//! The times of the moments.

use std::time::{Duration, Instant};

use hprof_format::{Age, BirthMoment, BirthsHead};

use super::clock::Birth;

/// The most entries. Every other one is forgotten when there are more, so that recent moments are the most precise.
const MOST: usize = 65_536;
/// The entries that are kept then in any case.
const RECENT: usize = 1_024;
/// The most entries that are never forgotten.
const MOST_KEPT: usize = 4_096;

/// The moments, in their order. An entry stands for all moments up to the next entry.
pub(in super::super) struct Moments {
    began: Instant,
    entries: Vec<MomentEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MomentEntry {
    tick: u32,
    /// The time of its beginning, since the first one.
    since: Duration,
    /// The counts at its beginning.
    before: Before,
    /// `true` if it is never forgotten.
    is_kept: bool,
}

/// The collections and allocations between the first moment and the beginning of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Before {
    pub(in super::super) collections: u32,
    /// The bytes allocated, as far as they were counted.
    pub(in super::super) bytes: u64,
}

impl Default for Moments {
    fn default() -> Self {
        let first = MomentEntry {
            tick: 0,
            since: Duration::ZERO,
            before: Before::default(),
            is_kept: true,
        };
        Self {
            began: Instant::now(),
            entries: vec![first],
        }
    }
}

impl Moments {
    /// Adds the next moment, which begins now. Returns `true` if older ones have been forgotten.
    pub(in super::super) fn add(&mut self, before: Before) -> bool {
        self.push(before, false);
        let is_full = self.entries.len() > MOST;
        if is_full {
            self.thin();
        }
        is_full
    }

    /// As [`Moments::add`], for a moment by which objects are told apart that were made before and after a heap dump: it is
    /// not forgotten, up to a number. Returns the moment's number.
    pub(in super::super) fn add_kept(&mut self, before: Before) -> u32 {
        let kept = self.entries.iter().filter(|entry| entry.is_kept).count();
        self.push(before, kept < MOST_KEPT)
    }

    fn push(&mut self, before: Before, is_kept: bool) -> u32 {
        let tick = self.entries.last().map_or(0, |last| last.tick + 1);
        self.entries.push(MomentEntry {
            tick,
            since: self.time(),
            before,
            is_kept,
        });
        tick
    }

    /// Returns the moments for a births file, whose dump was listed when `next` began.
    pub(in super::super) fn births(&self, next: u32) -> BirthsHead {
        let millis = |entry: &MomentEntry| entry.since.as_millis().try_into().unwrap_or(u64::MAX);
        let moments = self.entries.iter().map(|entry| BirthMoment {
            number: entry.tick,
            millis: millis(entry),
            collections: entry.before.collections,
            bytes: entry.before.bytes,
        });
        let listed = &self.entries[self.place(next)];
        BirthsHead {
            next,
            millis: millis(listed),
            collections: listed.before.collections,
            moments: moments.collect(),
            ..BirthsHead::default()
        }
    }

    /// Forgets every other moment but the recent ones. [`Moments::known`] says what the others belong to from here on.
    pub(in super::super) fn thin(&mut self) {
        let old = self.entries.len().saturating_sub(RECENT);
        let mut index = 0;
        self.entries.retain(|entry| {
            index += 1;
            entry.is_kept || index > old || index % 2 == 1
        });
    }

    /// Returns the moment that stands for this one.
    pub(in super::super) fn known(&self, birth: Birth) -> Birth {
        let tick = self.entries[self.place(birth.tick)].tick;
        Birth { tick, ..birth }
    }

    /// Returns the time since the first moment.
    pub(in super::super) fn time(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the age, at this time, of objects made in a moment.
    pub(in super::super) fn age(&self, birth: Birth, now: Duration) -> Age {
        let place = self.place(birth.tick);
        let oldest = now.saturating_sub(self.entries[place].since);
        let next = self.entries.get(place + 1);
        let youngest = next.map_or(Duration::ZERO, |next| now.saturating_sub(next.since));
        Age::between(youngest, oldest)
    }

    /// Returns the position of the entry for a moment. The first one is never forgotten.
    fn place(&self, tick: u32) -> usize {
        let above = self.entries.partition_point(|entry| entry.tick <= tick);
        above.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(seconds: &[u64]) -> Moments {
        let entries = (0..).zip(seconds).map(|(tick, &seconds)| MomentEntry {
            tick,
            since: Duration::from_secs(seconds),
            before: Before::default(),
            is_kept: false,
        });
        Moments {
            entries: entries.collect(),
            ..Moments::default()
        }
    }

    fn birth(tick: u32) -> Birth {
        Birth {
            collections: 0,
            tick,
        }
    }

    #[test]
    fn an_age_lies_between_the_ends_of_the_moment() {
        let moments = moments(&[0, 50, 95]);
        let now = Duration::from_secs(100);
        let ages = [0, 1, 2].map(|tick| moments.age(birth(tick), now).to_string());
        assert_eq!(ages, ["<1m..<10m", "<10s..<1m", "<1s..<10s"]);
    }

    #[test]
    fn the_moment_of_a_dump_is_not_forgotten() {
        let mut moments = moments(&vec![0; 5 * RECENT]);
        let dump = moments.add_kept(Before::default());
        for _ in 0..5 * RECENT {
            moments.add(Before::default());
        }
        for _ in 0..5 {
            moments.thin();
        }
        let known = [dump - 1, dump, dump + 1].map(|tick| moments.known(birth(tick)).tick);
        assert!(known[0] < dump && known[1] == dump && known[2] == dump);
        assert!(
            moments
                .births(dump)
                .moments
                .iter()
                .any(|moment| moment.number == dump)
        );
    }

    #[test]
    fn forgotten_moments_belong_to_the_one_before() {
        let seconds: Vec<u64> = (0..2 * RECENT as u64).collect();
        let mut moments = moments(&seconds);
        moments.thin();
        assert_eq!(moments.entries.len(), RECENT + RECENT / 2);
        let known = [0, 1, 2, 3, 2 * RECENT as u32 - 1].map(|tick| moments.known(birth(tick)).tick);
        assert_eq!(known, [0, 0, 2, 2, 2 * RECENT as u32 - 1]);
    }
}
