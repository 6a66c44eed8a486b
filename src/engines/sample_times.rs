//! When samples were taken: their counts in steps of time.
//!
//! Steps are joined in pairs as the run gets longer, or when there is no room for more counts, so that a run of any
//! length needs a bounded amount of memory.

use std::hash::Hash;
use std::time::{Duration, Instant};

use hprof_format::{
    Millis, SampleTimes, Section, StepCount, TimedLock, TimedRow, TimedSection, TraceSerial,
};
use memory::{List, Map, OrStop, Set};

use output::{Entry, now};

/// The first length of a step, in milliseconds.
const FIRST_STEP: u64 = 250;
/// The most steps.
const STEPS: u64 = 2_048;
/// The most counts, unless there are so many stacks that some of them have more than one: tables may grow with the code.
const COUNTS: usize = 128 * 1024;
const COUNTS_OF_STACK: usize = 2;
/// A stack that is not in the section is in a step if it has so large a share of it: one in so many.
const NOTABLE: u64 = 20;
/// The most counts in a snapshot, which has little room.
const COUNTS_OF_SNAPSHOT: usize = 16 * 1024;

/// The samples of stacks by step.
pub(super) struct Times<K> {
    /// `None` if times are not kept.
    state: Option<State<K>>,
}

struct State<K> {
    began: Instant,
    /// The same moment by the system's clock.
    begin: Millis,
    /// In milliseconds.
    step: u64,
    counts: Map<(K, u32), u64>,
}

/// The key of a section's row.
pub(super) trait TimedKey: Copy + Eq + Hash {
    /// Returns the numbers that keys are ordered by; the first count most.
    fn numbers(self) -> [[u64; 2]; 2];

    /// Writes the names of the row.
    fn write_names(self, entry: &mut Entry<'_>);

    /// Returns the trace and the lock of the row.
    fn row(self) -> (TraceSerial, Option<TimedLock>);
}

/// SAMPLE TIMES, without its rows.
pub(super) struct TimesSection {
    pub(super) of: TimedSection,
    /// The time that one sample stands for.
    pub(super) sample: Duration,
    /// `true` if there is little room.
    pub(super) is_snapshot: bool,
}

/// The times of the rows of a section, and the sums of all others.
struct ListedTimes<K> {
    began: Instant,
    begin: Millis,
    step: u64,
    /// Sorted.
    rows: List<(K, List<StepCount>)>,
    rest: Vec<StepCount>,
}

impl<K: TimedKey> Times<K> {
    /// Begins now, if times are kept.
    pub(super) fn new(are_kept: bool) -> Self {
        Self {
            state: are_kept.then(State::new),
        }
    }

    /// Counts samples that were taken just now. `stacks` is the number of different stacks so far.
    pub(super) fn add(&mut self, key: K, samples: u64, stacks: usize) {
        if let Some(state) = &mut self.state {
            let now = millis(state.began.elapsed());
            state.lengthen(now);
            state.count(key, now / state.step, samples);
            state.limit(stacks);
        }
    }

    /// Counts samples that are spread evenly over a period that has passed.
    pub(super) fn add_over(&mut self, key: K, samples: u64, period: [Instant; 2], stacks: usize) {
        let Some(state) = &mut self.state else {
            return;
        };
        let [from, to] = period.map(|time| millis(time.saturating_duration_since(state.began)));
        state.lengthen(to);
        let (first, last) = (
            from / state.step,
            to.saturating_sub(1).max(from) / state.step,
        );
        let length = u128::from(to.saturating_sub(from).max(1));
        let mut counted = 0;
        for step in first..=last {
            let until = ((step + 1) * state.step).min(to).saturating_sub(from);
            let share = u128::from(samples) * u128::from(until) / length;
            let by_then = match step == last {
                true => samples,
                false => u64::try_from(share).unwrap_or(samples),
            };
            state.count(key, step, by_then - counted);
            counted = by_then;
        }
        state.limit(stacks);
    }

    /// Returns the times so far.
    pub(super) fn get(&self) -> Self {
        let copy = |state: &State<K>| State {
            counts: state.counts.try_clone().or_stop(),
            ..*state
        };
        Self {
            state: self.state.as_ref().map(copy),
        }
    }

    /// As [`Times::get`], and begins anew.
    pub(super) fn take(&mut self) -> Self {
        let anew = Self::new(self.state.is_some());
        std::mem::replace(self, anew)
    }

    /// Joins steps until the times have room in a snapshot.
    fn for_snapshot(mut self, rows: &Set<K>) -> Self {
        if let Some(state) = &mut self.state {
            state.counts.retain(|(key, _), _| rows.contains(key));
            while state.counts.len() > COUNTS_OF_SNAPSHOT && state.step < u64::MAX / 2 {
                let before = state.counts.len();
                state.double();
                if state.counts.len() == before && state.is_one_step() {
                    state.counts.clear();
                }
            }
        }
        self
    }

    /// Returns the times of these rows, and of others in the steps of which they have a large share; `None` if times are not
    /// kept.
    fn listed(self, rows: &Set<K>, row_of: impl Fn(K) -> Option<K>) -> Option<ListedTimes<K>> {
        let State {
            began,
            begin,
            step,
            counts,
        } = self.state?;
        let mut sums = Map::<u32, u64>::default();
        for (&(_, step), &count) in &counts {
            let sum = sums.get_or_default(step).or_stop();
            *sum = sum.saturating_add(count);
        }
        let mut listed = List::<(K, StepCount)>::new();
        let mut rest = Map::<u32, u64>::default();
        let mut added_to = Map::<K, Option<K>>::default();
        for ((key, step), count) in counts {
            let sum = sums.get(&step).copied().unwrap_or_default();
            // One sample says nothing.
            let is_notable = count > 1 && count.saturating_mul(NOTABLE) >= sum;
            let row = match is_notable || rows.contains(&key) {
                true => Some(key),
                false => *added_to.get_or_insert_with(key, || row_of(key)).or_stop(),
            };
            match row {
                Some(row) => listed.push((row, StepCount { step, count })).or_stop(),
                None => *rest.get_or_default(step).or_stop() += count,
            }
        }
        let mut listed = listed.into_vec();
        memory::sort_by_numbers(&mut listed, |(_, count)| [count.step.into(), 0]);
        memory::sort_by_numbers(&mut listed, |(key, _)| key.numbers()[1]);
        memory::sort_by_numbers(&mut listed, |(key, _)| key.numbers()[0]);
        let mut grouped = List::<(K, List<StepCount>)>::new();
        for (key, count) in listed {
            match grouped.last_mut() {
                Some((last, counts)) if *last == key => match counts.last_mut() {
                    Some(same) if same.step == count.step => same.count += count.count,
                    _ => counts.push(count).or_stop(),
                },
                _ => grouped
                    .push((key, List::collect([count]).or_stop()))
                    .or_stop(),
            }
        }
        let rest = rest.into_iter();
        let rest = rest.map(|(step, count)| StepCount { step, count });
        let mut rest = List::collect(rest).or_stop().into_vec();
        memory::sort_by_numbers(&mut rest, |count| [count.step.into(), 0]);
        Some(ListedTimes {
            began,
            begin,
            step,
            rows: grouped,
            rest,
        })
    }
}

impl TimesSection {
    /// Writes the times of the rows of a section, and of other stacks that have a large share of a step; `row_of` returns the row
    /// to which the others were added. Nothing is written if times are not kept.
    pub(super) fn write<K: TimedKey>(
        self,
        entry: &mut Entry<'_>,
        times: Times<K>,
        rows: impl Iterator<Item = K>,
        row_of: impl Fn(K) -> Option<K>,
    ) {
        let rows = Set::collect(rows).or_stop();
        let times = match self.is_snapshot {
            true => times.for_snapshot(&rows),
            false => times,
        };
        let Some(times) = times.listed(&rows, row_of) else {
            return;
        };
        for &(key, _) in &times.rows {
            key.write_names(entry);
        }
        let section = times.section(self.of, self.sample);
        entry.section(&Section::SampleTimes(section));
    }
}

impl<K: TimedKey> ListedTimes<K> {
    /// Returns the section.
    fn section(self, of: TimedSection, sample: Duration) -> SampleTimes {
        let rest = TimedRow {
            counts: self.rest,
            ..TimedRow::default()
        };
        let rest = Some(rest).filter(|rest| !rest.counts.is_empty());
        let mut rows: Vec<TimedRow> = rest.into_iter().collect();
        rows.extend(self.rows.into_iter().map(|(key, counts)| {
            let (trace, lock) = key.row();
            TimedRow {
                trace,
                lock,
                counts: counts.into_vec(),
            }
        }));
        SampleTimes {
            of,
            sample,
            begin: self.begin,
            millis: millis(self.began.elapsed()),
            step: self.step,
            rows,
        }
    }
}

impl<K: TimedKey> State<K> {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            begin: now(),
            step: FIRST_STEP,
            counts: Map::default(),
        }
    }

    fn count(&mut self, key: K, step: u64, samples: u64) {
        if samples == 0 {
            return;
        }
        // There are few steps.
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let count = self.counts.get_or_default((key, step)).or_stop();
        *count = count.saturating_add(samples);
    }

    /// Doubles the steps until there are few enough up to this time.
    fn lengthen(&mut self, millis: u64) {
        while millis / self.step >= STEPS {
            self.double();
        }
    }

    /// Doubles the steps until there are few enough counts.
    fn limit(&mut self, stacks: usize) {
        let most = COUNTS.max(stacks.saturating_mul(COUNTS_OF_STACK));
        while self.counts.len() > most && !self.is_one_step() {
            self.double();
        }
    }

    fn is_one_step(&self) -> bool {
        self.counts.keys().all(|&(_, step)| step == 0)
    }

    fn double(&mut self) {
        self.step = self.step.saturating_mul(2);
        let before = std::mem::take(&mut self.counts);
        for ((key, step), count) in before {
            let sum = self.counts.get_or_default((key, step / 2)).or_stop();
            *sum = sum.saturating_add(count);
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    impl TimedKey for u32 {
        fn numbers(self) -> [[u64; 2]; 2] {
            [[self.into(), 0], [0, 0]]
        }

        fn write_names(self, _: &mut Entry<'_>) {}

        fn row(self) -> (TraceSerial, Option<TimedLock>) {
            (TraceSerial(self), None)
        }
    }

    fn times() -> (Times<u32>, Instant) {
        let times = Times::new(true);
        let began = times.state.as_ref().expect("they are kept").began;
        (times, began)
    }

    fn rows(times: Times<u32>, listed: &[u32]) -> SampleTimes {
        let listed = Set::collect(listed.iter().copied()).expect("little");
        let listed = times.listed(&listed, |_| None);
        let listed = listed.expect("they are kept");
        listed.section(TimedSection::WallSamples, Duration::from_millis(20))
    }

    fn counts(times: &SampleTimes, trace: u32) -> Vec<(u32, u64)> {
        let mut rows = times.rows.iter();
        let row = rows.find(|row| row.trace == TraceSerial(trace));
        let counts = row.map(|row| row.counts.iter());
        let counts = counts.into_iter().flatten();
        counts.map(|count| (count.step, count.count)).collect()
    }

    #[test]
    fn samples_are_in_the_steps_in_which_they_were_taken() {
        let (mut times, began) = times();
        let at = |millis| began + Duration::from_millis(millis);
        times.add_over(7, 50, [at(0), at(1_000)], 1);
        times.add_over(7, 10, [at(1_100), at(1_300)], 1);
        times.add_over(8, 3, [at(600), at(600)], 1);
        let found = rows(times, &[7]);
        assert_eq!(found.step, 250);
        let expected = [(0, 12), (1, 13), (2, 12), (3, 13), (4, 7), (5, 3)];
        assert_eq!(counts(&found, 7), expected);
        // It has a fifth of its step.
        assert_eq!(counts(&found, 8), [(2, 3)]);
    }

    #[test]
    fn a_long_run_has_long_steps_and_all_of_its_samples() {
        let (mut times, began) = times();
        let month = 30 * 24 * 3_600;
        for second in 0..month {
            let [from, to] = [second, second + 1].map(|second| began + Duration::from_secs(second));
            times.add_over(7, 50, [from, to], 1);
        }
        let found = rows(times, &[7]);
        let counts = counts(&found, 7);
        assert!(
            (STEPS / 2..=STEPS).contains(&(counts.len() as u64)),
            "{}",
            counts.len()
        );
        let sum: u64 = counts.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, 50 * month);
        assert!(found.step.is_multiple_of(FIRST_STEP));
    }

    #[test]
    fn many_stacks_have_few_steps_and_rare_ones_are_added_up() {
        let (mut times, began) = times();
        let stacks = 4_096;
        for second in 0..100_u64 {
            let [from, to] = [second, second + 1].map(|second| began + Duration::from_secs(second));
            for stack in 1..=stacks {
                times.add_over(stack, 1, [from, to], stacks as usize);
            }
        }
        let state = times.state.as_ref().expect("they are kept");
        assert!(state.counts.len() <= COUNTS);
        let found = rows(times, &[7]);
        assert_eq!(found.rows.len(), 2);
        let sum = |trace| {
            counts(&found, trace)
                .iter()
                .map(|(_, count)| count)
                .sum::<u64>()
        };
        assert_eq!((sum(7), sum(0)), (100, 100 * u64::from(stacks - 1)));
    }

    #[test]
    fn a_snapshot_has_few_counts() {
        let (mut times, began) = times();
        for stack in 1..=100 {
            let to = began + Duration::from_secs(300);
            times.add_over(stack, 30_000, [began, to], 100);
        }
        let all = Set::collect(1..=100).expect("little");
        let times = times.for_snapshot(&all);
        let state = times.state.as_ref().expect("they are kept");
        assert!(state.counts.len() <= COUNTS_OF_SNAPSHOT);
        assert_eq!(state.counts.values().sum::<u64>(), 100 * 30_000);
    }
}
