//! The CPU time that samples stand for, in profiles that are compared or added up.

use std::time::Duration;

use crate::metric::Metric;
use crate::model::Profile;

/// The reason why CPU samples cannot be compared with, or added to, those of other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownInterval {
    /// Only other files say it.
    #[error(
        "does not say which CPU time a sample stands for, as the files before it do, so that its samples are no times"
    )]
    Here,
    /// Only this file says it.
    #[error(
        "says which CPU time a sample stands for, and the files before it do not, so that their samples are no times"
    )]
    Before,
}

/// The interval in which the samples of all profiles so far can be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommonInterval {
    /// That of the profiles with CPU samples; `None` within it if their files do not say it.
    known: Option<Option<Duration>>,
}

impl CommonInterval {
    /// Takes another profile.
    ///
    /// # Errors
    /// [`UnknownInterval`], if the intervals of some are known, and those of others are not.
    pub fn add(&mut self, profile: &Profile) -> Result<(), UnknownInterval> {
        if profile.total(Metric::Cpu) == 0 {
            return Ok(());
        }
        let interval = profile.interval().filter(|interval| !interval.is_zero());
        self.known = Some(match (self.known, interval) {
            (None, interval) => interval,
            (Some(Some(one)), Some(other)) => Some(common(one, other)),
            (Some(None), None) => None,
            (Some(Some(_)), None) => return Err(UnknownInterval::Here),
            (Some(None), Some(_)) => return Err(UnknownInterval::Before),
        });
        Ok(())
    }

    /// Returns the interval, if the files say it.
    #[must_use]
    pub fn interval(self) -> Option<Duration> {
        self.known.flatten()
    }
}

/// Returns the longest interval of which both are multiples.
fn common(one: Duration, other: Duration) -> Duration {
    let (mut one, mut other) = (one.as_nanos(), other.as_nanos());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    Duration::from_nanos(u64::try_from(one).unwrap_or(u64::MAX))
}

/// Returns how many samples of `unit` one of `interval` is.
pub(crate) fn samples_of(interval: Duration, unit: Duration) -> u64 {
    let samples = interval.as_nanos() / unit.as_nanos().max(1);
    u64::try_from(samples).unwrap_or(u64::MAX)
}

/// Returns a remark on samples of `interval` that are counted in those of `unit`, if these are others.
pub(crate) fn recounted(interval: Duration, unit: Duration) -> Option<String> {
    let millis = |time: Duration| time.as_micros() as f64 / 1e3;
    let (of, to) = (millis(interval), millis(unit));
    let samples = samples_of(interval, unit);
    (samples > 1).then(|| {
        format!("a CPU sample of {of} ms is counted as {samples} of {to} ms, so that times can be compared")
    })
}

impl Profile {
    /// Counts CPU samples in those of a common interval, so that they can be compared with others. Returns a remark if their number is
    /// another one then.
    pub fn count_samples_of(&mut self, common: CommonInterval) -> Option<String> {
        let (interval, unit) = (self.interval()?, common.interval()?);
        let samples = samples_of(interval, unit);
        for table in &mut self.tables {
            if table.metrics() == [Metric::Cpu] {
                table.multiply(samples);
            }
        }
        let timelines = self.timelines.iter_mut();
        let of_cpu = timelines.filter(|timeline| timeline.metric == Metric::Cpu);
        for (_, value) in of_cpu
            .flat_map(|it| &mut it.rows)
            .flat_map(|row| &mut row.values)
        {
            *value = value.saturating_mul(samples);
        }
        self.interval = Some(unit);
        let remark = recounted(interval, unit).filter(|_| self.has(Metric::Cpu))?;
        self.remark(remark.clone());
        Some(remark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Labels, Table};

    fn profile(millis: Option<u64>, samples: u64) -> Profile {
        let mut profile = Profile {
            interval: millis.map(Duration::from_millis),
            ..Profile::default()
        };
        let frame = profile.marker("a");
        let stack = profile.stacks.push([frame]);
        let labels = profile.intern_labels(Labels::default());
        let mut table = Table::new(&[Metric::Cpu]);
        table.push(stack, labels, &[samples]);
        profile.tables.push(table);
        profile
    }

    #[test]
    fn times_are_the_same_in_a_common_interval() {
        let mut all = [profile(Some(20), 48), profile(Some(15), 7)];
        let mut common = CommonInterval::default();
        for one in &all {
            common.add(one).expect("known");
        }
        assert_eq!(common.interval(), Some(Duration::from_millis(5)));
        for one in &mut all {
            let remark = one.count_samples_of(common);
            assert_eq!(one.interval(), Some(Duration::from_millis(5)));
            assert!(one.stated_remarks().eq(remark));
        }
        assert_eq!(
            all.each_ref().map(|one| one.stated_remarks().next()),
            [
                Some(
                    "a CPU sample of 20 ms is counted as 4 of 5 ms, so that times can be compared"
                        .to_owned()
                ),
                Some(
                    "a CPU sample of 15 ms is counted as 3 of 5 ms, so that times can be compared"
                        .to_owned()
                ),
            ]
        );
        assert_eq!(all.map(|one| one.total(Metric::Cpu)), [192, 21]);
    }

    #[test]
    fn samples_are_no_times() {
        let mut common = CommonInterval::default();
        common.add(&profile(None, 48)).expect("the first");
        common.add(&profile(None, 7)).expect("none is known");
        // One without samples needs no interval.
        common.add(&profile(Some(10), 0)).expect("no samples");
        let refused = common.add(&profile(Some(10), 1));
        assert_eq!(refused, Err(UnknownInterval::Before));
        assert_eq!(common.interval(), None);
    }
}
