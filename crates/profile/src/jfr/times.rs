//! When events happened, and when the samples of an exported profile were taken: its events have the values of each step.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use hprof_jfr::{Chunk, ReadError, Struct, Value};
use indexmap::IndexMap;

use super::fields::{nanos, number};
use crate::metric::Metric;
use crate::model::{LabelsId, Profile, Span, StackId, Timeline, TimelineRow};
use crate::records::NANOS_PER_MILLI;
use crate::steps::Steps;

type Key = (StackId, LabelsId);

/// The time of an event, in nanoseconds since 1970.
pub(super) struct EventTime {
    begin: u64,
    end: u64,
    /// The time of its chunk.
    chunk_begin: u64,
    chunk_end: u64,
}

impl EventTime {
    pub(super) fn of(values: Struct<'_>, chunk: &Chunk) -> Result<EventTime, ReadError> {
        let header = chunk.header();
        let chunk_begin = header.start_nanos;
        let ticks = number(values, "startTime")?;
        let begin = match ticks.checked_sub(header.start_ticks) {
            Some(after) => chunk_begin.saturating_add(header.nanos(after)),
            // It had begun before the chunk did.
            None => chunk_begin.saturating_sub(header.nanos(header.start_ticks - ticks)),
        };
        Ok(EventTime {
            begin,
            end: begin.saturating_add(nanos(values, "duration", chunk)?),
            chunk_begin,
            chunk_end: chunk_begin.saturating_add(header.duration_nanos),
        })
    }

    /// Returns the time at which it began. A damaged one is in the chunk all the same.
    pub(super) fn start(&self) -> Span {
        let at = self.begin.max(self.chunk_begin).min(self.chunk_end) / NANOS_PER_MILLI;
        Span {
            from: at,
            to: at.saturating_add(1),
        }
    }

    /// Returns the time that it took, as far as that is after `begin`, in milliseconds since 1970.
    pub(super) fn after(&self, begin: u64) -> Span {
        let end = self.end.max(self.chunk_begin).min(self.chunk_end) / NANOS_PER_MILLI;
        let from = (self.begin / NANOS_PER_MILLI).max(begin).min(end);
        Span {
            from,
            to: end.max(from.saturating_add(1)),
        }
    }

    /// Returns the time that it states, whatever its chunk's is.
    pub(super) fn stated(&self) -> Span {
        Span {
            from: self.begin / NANOS_PER_MILLI,
            to: self.end.div_ceil(NANOS_PER_MILLI),
        }
    }
}

/// The values by step, as an export has them.
#[derive(Default)]
pub(super) struct OwnTimes {
    sampled: Vec<SampledTime>,
    /// The values of each metric by the middle of their steps, in milliseconds since 1970.
    values: HashMap<Metric, IndexMap<Key, BTreeMap<u64, u64>, RandomState>, RandomState>,
}

/// The steps of a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SampledTime {
    metric: Metric,
    begin: u64,
    step: u64,
    end: u64,
}

impl OwnTimes {
    /// Takes an event that says in which steps a value has its times.
    pub(super) fn sampled(&mut self, values: Struct<'_>, chunk: &Chunk) -> Result<(), ReadError> {
        let name = values.get("value")?;
        let metric = match name {
            Value::Text(name) => name.parse().ok(),
            _ => None,
        };
        let Some(metric) = metric else { return Ok(()) };
        let step = nanos(values, "step", chunk)? / NANOS_PER_MILLI;
        let sampled = SampledTime {
            metric,
            begin: number(values, "firstStep")?,
            step: step.max(1),
            end: EventTime::of(values, chunk)?.stated().to,
        };
        // Few recordings have more than one of each value.
        if !self.sampled.contains(&sampled) {
            self.sampled.push(sampled);
        }
        Ok(())
    }

    /// Adds a value that was measured in the step whose time the event has.
    pub(super) fn add(&mut self, metric: Metric, key: Key, span: Span, value: u64) {
        let middle = span.from + span.to.saturating_sub(span.from) / 2;
        let rows = self.values.entry(metric).or_default();
        let sum = rows.entry(key).or_default().entry(middle).or_default();
        *sum = sum.saturating_add(value);
    }

    /// Tells the profile the times of each metric: the same steps as in the file that was exported, and longer ones if
    /// the recording has several with different steps.
    pub(super) fn tell(
        mut self,
        profile: &mut Profile,
        mut key: impl FnMut(&mut Profile, Key) -> Key,
    ) {
        for metric in Metric::ALL {
            let of_metric = self.sampled.iter().filter(|it| it.metric == metric);
            let sampled: Vec<SampledTime> = of_metric.copied().collect();
            let rows = self.values.remove(&metric).unwrap_or_default();
            let rows: Vec<_> = rows
                .into_iter()
                .map(|(of, values)| (key(profile, of), values))
                .collect();
            let timeline = match *sampled {
                [] => continue,
                [sampled] => Some(exact(sampled, rows)),
                _ => together(metric, &sampled, rows),
            };
            profile.timelines.extend(timeline);
        }
    }
}

fn exact(sampled: SampledTime, rows: Vec<(Key, BTreeMap<u64, u64>)>) -> Timeline {
    let SampledTime {
        metric,
        begin,
        step,
        end,
    } = sampled;
    let number = |middle: u64| {
        let number = middle.saturating_sub(begin) / step;
        u32::try_from(number).unwrap_or(u32::MAX)
    };
    let rows = rows.into_iter().map(|((stack, labels), values)| {
        let mut steps: BTreeMap<u32, u64> = BTreeMap::new();
        for (middle, value) in values {
            let sum = steps.entry(number(middle)).or_default();
            *sum = sum.saturating_add(value);
        }
        TimelineRow {
            stack,
            labels,
            values: steps.into_iter().collect(),
        }
    });
    Timeline {
        metric,
        begin,
        millis: end.saturating_sub(begin).max(1),
        step,
        rows: rows.collect(),
    }
}

fn together(
    metric: Metric,
    sampled: &[SampledTime],
    rows: Vec<(Key, BTreeMap<u64, u64>)>,
) -> Option<Timeline> {
    let mut steps = Steps::default();
    for of in sampled {
        steps.at_least(of.step);
        steps.cover(Span {
            from: of.begin,
            to: of.end,
        });
    }
    for (key, values) in rows {
        for (middle, value) in values {
            steps.add(key, middle, value);
        }
    }
    steps.timeline(metric, |stack, labels| (stack, labels))
}
