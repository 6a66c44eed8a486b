//! The profile of a part of the run.

use std::ops::RangeInclusive;

use crate::metric::Metric;
use crate::model::{LabelsId, Profile, Span, StackId, Table, Timeline};

/// The reason there is no profile of a part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWithin {
    /// The file has no times.
    #[error(
        "does not say when its samples were taken: binary files of the agent do (format=b), for cpu=samples, wall= and monitor=y, sums of such files, and recordings of JFR; text does not"
    )]
    NoTimes,
    /// Nothing of the span is in this time of the run.
    #[error("has no samples of that time")]
    Outside(Span),
}

impl Span {
    pub(crate) fn and(self, other: Span) -> Span {
        Span {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}

impl Timeline {
    /// Returns the time of all steps.
    #[must_use]
    pub fn span(&self) -> Span {
        Span {
            from: self.begin,
            to: self.begin.saturating_add(self.millis),
        }
    }

    /// Returns the middle of a step, in milliseconds since 1970.
    pub(crate) fn middle(&self, step: u32) -> u64 {
        let begin = self
            .begin
            .saturating_add(self.step.saturating_mul(step.into()));
        let end = begin.saturating_add(self.step).min(self.span().to);
        begin.saturating_add(end.saturating_sub(begin) / 2)
    }

    /// Returns the time of some steps.
    fn span_of(&self, steps: &RangeInclusive<u64>) -> Span {
        let begin = |step: u64| self.begin.saturating_add(step.saturating_mul(self.step));
        Span {
            from: begin(*steps.start()),
            to: begin(steps.end().saturating_add(1)).min(self.span().to),
        }
    }

    /// Returns the steps whose middle is in the span; of a span that is shorter, the step in which it is. `None` if it is not
    /// in the time of all steps.
    fn steps_in(&self, span: Span) -> Option<RangeInclusive<u64>> {
        let all = self.span();
        let (from, to) = (span.from.max(all.from), span.to.min(all.to));
        if from >= to {
            return None;
        }
        let (from, to) = (from - all.from, to - all.from);
        let half = self.step / 2;
        // The first one whose middle is not before the time.
        let first_after = |time: u64| time.saturating_sub(half).div_ceil(self.step);
        let (first, end) = (first_after(from), first_after(to));
        let last = match span.to >= all.to {
            // The last one is not over yet.
            true => (to - 1) / self.step,
            false => end
                .checked_sub(1)
                .filter(|&last| last >= first)
                .unwrap_or(from / self.step),
        };
        Some(first.min(last)..=last)
    }

    /// Removes the samples of other stacks and labels.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(StackId, LabelsId) -> bool) {
        self.rows.retain(|row| is_kept(row.stack, row.labels));
    }
}

impl Profile {
    /// Returns the times of samples, of each metric that has them.
    #[must_use]
    pub fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    /// Returns the times of the samples of a metric.
    #[must_use]
    pub fn timeline(&self, metric: Metric) -> Option<&Timeline> {
        self.timelines
            .iter()
            .find(|timeline| timeline.metric == metric)
    }

    /// Returns the time in which samples were taken; `None` if it is not known.
    #[must_use]
    pub fn sampled(&self) -> Option<Span> {
        let spans = self.timelines.iter().map(Timeline::span);
        spans.reduce(Span::and)
    }

    /// Returns the part of the run to which the profile is limited.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// Returns the time at which the profile begins, in milliseconds since 1970, and how long it is, in microseconds; 0 if it
    /// is not known.
    #[must_use]
    pub fn period(&self) -> (u64, u64) {
        match self.span {
            Some(Span { from, to }) => (from, to.saturating_sub(from).saturating_mul(1_000)),
            None => (self.created, self.length),
        }
    }

    /// Returns the profile of a part of the run, which is widened or narrowed to whole steps. It has the values whose times are
    /// known.
    ///
    /// # Errors
    /// [`NotWithin`].
    pub fn within(mut self, span: Span) -> Result<Profile, NotWithin> {
        let run = self.sampled().ok_or(NotWithin::NoTimes)?;
        let mut whole: Option<Span> = None;
        let mut tables = Vec::new();
        for timeline in &self.timelines {
            let mut table = Table::new(&[timeline.metric]);
            if let Some(steps) = timeline.steps_in(span) {
                let part = timeline.span_of(&steps);
                whole = Some(whole.map_or(part, |whole| whole.and(part)));
                for row in &timeline.rows {
                    let values = row.values.iter();
                    let within = values.filter(|(step, _)| steps.contains(&u64::from(*step)));
                    let sum = within.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
                    if sum > 0 {
                        table.push(row.stack, row.labels, &[sum]);
                    }
                }
            }
            tables.push(table);
        }
        self.span = Some(whole.ok_or(NotWithin::Outside(run))?);
        let others = self.metrics();
        self.tables = tables;
        self.split_waits();
        let kept = self.metrics();
        self.without_times = others.into_iter().filter(|m| !kept.contains(m)).collect();
        // Their totals are of the whole run.
        self.history = Default::default();
        self.errors = None;
        self.timelines = Vec::new();
        Ok(self)
    }

    /// Returns the values of the whole run that are left out in the profile of a part of it, as it is not known when they
    /// were measured.
    #[must_use]
    pub fn without_times(&self) -> &[Metric] {
        &self.without_times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Labels, TimelineRow};

    const BEGIN: u64 = 1_764_238_560_000;

    fn profile(rows: &[(&str, &[(u32, u64)])], step: u64, millis: u64) -> Profile {
        let mut profile = Profile::default();
        let labels = profile.intern_labels(Labels::default());
        let mut table = Table::new(&[Metric::Cpu]);
        let mut timeline = Timeline {
            metric: Metric::Cpu,
            begin: BEGIN,
            millis,
            step,
            rows: Vec::new(),
        };
        for (name, values) in rows {
            let frame = profile.marker(name);
            let stack = profile.stacks.push([frame]);
            let sum = values.iter().map(|(_, value)| value).sum();
            table.push(stack, labels, &[sum]);
            timeline.rows.push(TimelineRow {
                stack,
                labels,
                values: values.to_vec(),
            });
        }
        profile.tables.push(table);
        profile.tables.push(Table::new(&[Metric::Contention]));
        profile.timelines.push(timeline);
        profile
    }

    fn span(from: u64, to: u64) -> Span {
        Span {
            from: BEGIN + from,
            to: BEGIN + to,
        }
    }

    #[test]
    fn a_part_has_the_steps_whose_middle_is_in_it() {
        let ten = profile(
            &[("a", &[(0, 1), (1, 2), (2, 4)]), ("b", &[(2, 8), (3, 16)])],
            1_000,
            3_600,
        );
        for (asked, whole, total) in [
            ((0, 3_600), (0, 3_600), 31),
            ((0, 9_000), (0, 3_600), 31),
            ((1_000, 2_000), (1_000, 2_000), 2),
            ((600, 2_400), (1_000, 2_000), 2),
            ((400, 2_600), (0, 3_000), 15),
            // Shorter than a step.
            ((1_100, 1_200), (1_000, 2_000), 2),
            ((1_700, 1_900), (1_000, 2_000), 2),
            // The last step is not over.
            ((3_100, 3_600), (3_000, 3_600), 16),
            ((3_550, 3_590), (3_000, 3_600), 16),
            ((3_550, 4_000), (3_000, 3_600), 16),
        ] {
            let part = ten.clone().within(span(asked.0, asked.1)).expect("a part");
            assert_eq!(part.span(), Some(span(whole.0, whole.1)), "{asked:?}");
            assert_eq!(part.total(Metric::Cpu), total, "{asked:?}");
            assert_eq!(part.without_times(), [Metric::Contention]);
            assert!(!part.has(Metric::Contention));
        }
    }

    #[test]
    fn every_step_is_in_one_of_parts_that_follow_each_other() {
        let values: Vec<(u32, u64)> = (0..7).map(|step| (step, 1 << step)).collect();
        let all = profile(&[("a", &values)], 250, 1_700);
        for cut in (50..1_700).step_by(50) {
            let total = |from, to| {
                let part = all.clone().within(span(from, to)).expect("a part");
                part.total(Metric::Cpu)
            };
            // A part without the middle of any step has one of another part.
            if cut > 125 && cut < 1_550 {
                assert_eq!(total(0, cut) + total(cut, 1_700), 127, "{cut}");
            }
        }
    }

    #[test]
    fn what_is_not_in_the_run_and_what_has_no_times_is_refused() {
        let ten = profile(&[("a", &[(0, 1)])], 250, 500);
        for (from, to) in [(500, 900), (9_000, 9_001)] {
            let refused = ten.clone().within(span(from, to)).err();
            assert_eq!(refused, Some(NotWithin::Outside(span(0, 500))));
        }
        let none = Profile::default().within(span(0, 1)).err();
        assert_eq!(none, Some(NotWithin::NoTimes));
    }
}
