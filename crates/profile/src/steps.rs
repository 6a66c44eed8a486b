//! Counts samples by the time at which they were taken, in steps that grow with the time that they cover.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::metric::Metric;
use crate::model::{LabelsId, Span, StackId, Timeline, TimelineRow};

/// The shortest step, in milliseconds, and the most steps. Both are those of the agent.
const SHORTEST: u64 = 250;
const MOST: u64 = 2_048;

/// Samples by stack and step. Steps are numbered from 1970 on, so that the result does not depend on the order of the samples.
pub(crate) struct Steps {
    /// The length of a step in milliseconds: [`SHORTEST`], doubled as often as needed.
    step: u64,
    /// The time of all samples.
    span: Option<Span>,
    rows: IndexMap<(StackId, LabelsId), BTreeMap<u64, u64>, RandomState>,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps {
            step: SHORTEST,
            span: None,
            rows: IndexMap::default(),
        }
    }
}

impl Steps {
    /// Widens the time that is covered; in all of it samples were taken.
    pub(crate) fn cover(&mut self, span: Span) {
        let span = match self.span {
            Some(before) => before.and(span),
            None => span,
        };
        self.span = Some(span);
        while span.to.div_ceil(self.step) - span.from / self.step > MOST {
            self.double();
        }
    }

    /// Makes the steps at least so long.
    pub(crate) fn at_least(&mut self, step: u64) {
        while self.step < step && self.step < u64::MAX / 4 {
            self.double();
        }
    }

    /// Adds samples that were taken at a time, which is given in milliseconds since 1970.
    pub(crate) fn add(&mut self, key: (StackId, LabelsId), millis: u64, value: u64) {
        self.cover(Span {
            from: millis,
            to: millis.saturating_add(1),
        });
        let steps = self.rows.entry(key).or_default();
        let sum = steps.entry(millis / self.step).or_default();
        *sum = sum.saturating_add(value);
    }

    /// Adds a value that was measured during some time, in equal parts.
    pub(crate) fn spread(&mut self, key: (StackId, LabelsId), span: Span, value: u64) {
        self.cover(span);
        let (first, last) = (
            span.from / self.step,
            span.to.saturating_sub(1).max(span.from) / self.step,
        );
        let steps = self.rows.entry(key).or_default();
        let whole = u128::from(span.to.saturating_sub(span.from).max(1));
        // The value until the end of a step: what is rounded off in one is in the next.
        let until = |time: u64| {
            let passed = u128::from(time.min(span.to).saturating_sub(span.from));
            u64::try_from(u128::from(value) * passed / whole).unwrap_or(value)
        };
        let mut before = 0;
        for step in first..=last {
            let by_then = match step == last {
                true => value,
                false => until(step.saturating_add(1).saturating_mul(self.step)),
            };
            let part = by_then - before;
            before = by_then;
            if part > 0 {
                let sum = steps.entry(step).or_default();
                *sum = sum.saturating_add(part);
            }
        }
    }

    /// Adds the values of another, in the longer steps of the two.
    pub(crate) fn join(&mut self, other: Steps) {
        self.at_least(other.step);
        if let Some(span) = other.span {
            self.cover(span);
        }
        for (key, values) in other.rows {
            for (step, value) in values {
                self.add(key, step.saturating_mul(other.step), value);
            }
        }
    }

    /// Multiplies all values.
    pub(crate) fn multiply(&mut self, factor: u64) {
        for value in self.rows.values_mut().flat_map(BTreeMap::values_mut) {
            *value = value.saturating_mul(factor);
        }
    }

    /// Returns the samples, with other keys; `None` if no time is covered.
    pub(crate) fn timeline(
        self,
        metric: Metric,
        mut key: impl FnMut(StackId, LabelsId) -> (StackId, LabelsId),
    ) -> Option<Timeline> {
        let span = self.span?;
        let first = span.from / self.step;
        let begin = first * self.step;
        let rows = self.rows.into_iter().map(|((stack, labels), steps)| {
            let (stack, labels) = key(stack, labels);
            // There are no more than `MOST` steps.
            let number = |step: u64| u32::try_from(step - first).unwrap_or(u32::MAX);
            let values = steps.into_iter();
            TimelineRow {
                stack,
                labels,
                values: values.map(|(step, value)| (number(step), value)).collect(),
            }
        });
        Some(Timeline {
            metric,
            begin,
            millis: span.to.saturating_sub(begin).max(1),
            step: self.step,
            rows: rows.collect(),
        })
    }

    fn double(&mut self) {
        self.step *= 2;
        for steps in self.rows.values_mut() {
            let before = std::mem::take(steps);
            for (step, value) in before {
                let sum = steps.entry(step / 2).or_insert(0_u64);
                *sum = sum.saturating_add(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Labels, Profile};

    fn key(profile: &mut Profile, name: &str) -> (StackId, LabelsId) {
        let frame = profile.marker(name);
        let labels = profile.intern_labels(Labels::default());
        (profile.stacks.push([frame]), labels)
    }

    #[test]
    fn samples_are_in_their_steps_in_any_order() {
        let mut profile = Profile::default();
        let key = key(&mut profile, "a");
        let samples = [(10_000, 1), (10_249, 2), (10_250, 4), (11_000, 8)];
        let timeline = |samples: &mut dyn Iterator<Item = (u64, u64)>| {
            let mut steps = Steps::default();
            samples.for_each(|(millis, value)| steps.add(key, millis, value));
            let timeline = steps.timeline(Metric::Cpu, |stack, labels| (stack, labels));
            let timeline = timeline.expect("a time");
            assert_eq!(
                (timeline.begin, timeline.step, timeline.millis),
                (10_000, 250, 1_001)
            );
            timeline.rows[0].values.clone()
        };
        let expected = [(0, 3), (1, 4), (4, 8)];
        assert_eq!(timeline(&mut samples.into_iter()), expected);
        assert_eq!(timeline(&mut samples.into_iter().rev()), expected);
    }

    #[test]
    fn steps_grow_with_the_time_and_lose_nothing() {
        let mut profile = Profile::default();
        let key = key(&mut profile, "a");
        let mut steps = Steps::default();
        // A sample in each second of two hours.
        (0..7_200).for_each(|second| steps.add(key, second * 1_000, 1));
        let timeline = steps.timeline(Metric::Cpu, |stack, labels| (stack, labels));
        let timeline = timeline.expect("a time");
        // The first of 250 ms times a power of two of which 2,048 cover them.
        assert_eq!((timeline.begin, timeline.step), (0, 4_000));
        let values = &timeline.rows[0].values;
        assert_eq!(values.len(), 1_800);
        assert!(values.iter().all(|&(_, value)| value == 4));
    }

    #[test]
    fn a_value_is_spread_over_its_time_and_nothing_is_lost() {
        let mut profile = Profile::default();
        let key = key(&mut profile, "a");
        let values = |steps: Steps| {
            let timeline = steps.timeline(Metric::Wall, |stack, labels| (stack, labels));
            timeline.expect("a time").rows[0].values.clone()
        };
        let span = |from, to| Span { from, to };
        let mut steps = Steps::default();
        // From the middle of the first step to the middle of the third.
        steps.spread(key, span(10_125, 10_625), 1_001);
        steps.spread(key, span(10_200, 10_200), 7);
        assert_eq!(values(steps), [(0, 257), (1, 500), (2, 251)]);
        let mut longer = Steps::default();
        longer.at_least(1_000);
        longer.spread(key, span(9_000, 12_000), 30);
        let mut shorter = Steps::default();
        shorter.spread(key, span(10_500, 11_500), 8);
        shorter.join(longer);
        assert_eq!(values(shorter), [(0, 10), (1, 14), (2, 14)]);
    }

    #[test]
    fn hostile_times_are_no_fault() {
        let mut profile = Profile::default();
        let key = key(&mut profile, "a");
        let mut steps = Steps::default();
        steps.add(key, u64::MAX, 1);
        steps.add(key, 0, 1);
        steps.at_least(u64::MAX);
        let timeline = steps.timeline(Metric::Cpu, |stack, labels| (stack, labels));
        let values = timeline.map(|timeline| timeline.rows[0].values.clone());
        let sum = |values: Vec<(u32, u64)>| values.iter().map(|(_, value)| value).sum::<u64>();
        assert_eq!(values.map(sum), Some(2));
    }
}
