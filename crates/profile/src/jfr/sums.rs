//! Adds events up by stack, thread and class.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use foldhash::fast::RandomState;
use hprof_format::{printable, shortened};
use hprof_jfr::{Chunk, Event, ReadError, Struct, Value};
use indexmap::IndexMap;

use super::about::About;
use super::fields::{nanos, number};
use super::kinds::{BLOCKED, EventKind, NATIVE, frame_of_state};
use super::own::{OWN, field_name};
use super::places::Places;
use super::times::{EventTime, OwnTimes};
use crate::metric::{Metric, Unit};
use crate::model::{Labels, LabelsId, Profile, Span, StackId};
use crate::number::grouped;
use crate::records::NANOS_PER_MILLI;
use crate::steps::Steps;

/// The frame of CPU time whose stack could not be read.
const UNSAMPLED: &str = "<unsampled>";

type Rows = IndexMap<(StackId, LabelsId), Vec<u64>, RandomState>;

/// The sums of each kind of events.
#[derive(Default)]
pub(super) struct Sums {
    rows: HashMap<EventKind, Rows, RandomState>,
    /// When the values were measured, of each column of the rows; a wait is spread over its time.
    times: HashMap<EventKind, Vec<Steps>, RandomState>,
    own_times: OwnTimes,
    /// The time at which the first chunk begins, in milliseconds since 1970.
    begin: Option<u64>,
    /// The time that each CPU time sample stands for; `None` if they differ.
    period: Option<Option<u64>>,
    /// The metrics for which rows of a profile have fields.
    own: HashSet<Metric, RandomState>,
    /// The kinds of types, by their names in the chunk.
    kinds: HashMap<Box<str>, Option<EventKind>, RandomState>,
    /// The numbers of events with a stack whose types are not known here.
    unknown: HashMap<Box<str>, u64, RandomState>,
}

/// The most types of events that are named because they are not read.
const MOST_NAMED: usize = 5;
/// The types of the JDK: those that are not read are no samples.
const OF_JDK: &str = "jdk.";

impl Sums {
    /// Adds an event; those without costs are ignored.
    pub(super) fn event(
        &mut self,
        event: &Event<'_>,
        chunk: &Chunk,
        places: &mut Places<'_>,
    ) -> Result<(), ReadError> {
        let Some(kind) = self.kind(&event.of().name) else {
            self.pass_over(event);
            return Ok(());
        };
        let values = event.values();
        let mut stack = places.stack(values)?;
        let thread = places.thread(values)?;
        let mut class = None;
        let row = match kind {
            EventKind::Execution => vec![1],
            EventKind::Native => {
                stack = places.known.under(stack, NATIVE);
                vec![1]
            }
            EventKind::CpuTime => {
                let period = nanos(values, "samplingPeriod", chunk)?;
                let same = self.period.is_none_or(|known| known == Some(period));
                self.period = Some(same.then_some(period));
                if matches!(values.get("failed")?, Value::Boolean(true)) {
                    stack = places.known.under(stack, UNSAMPLED);
                }
                vec![1]
            }
            EventKind::WallClock => {
                let state = places.name(values, "state")?;
                let state = state.map_or("", |name| places.known.profile.names.text(name));
                let state = frame_of_state(state);
                stack = places.known.under(stack, state);
                vec![number(values, "samples")?]
            }
            EventKind::Allocation => {
                class = places.class(values, "objectClass")?;
                vec![number(values, "weight")?]
            }
            EventKind::Buffer => {
                class = places.class(values, "objectClass")?;
                // One that took a new buffer stands for those that follow in it.
                let buffer = match event.of().field("tlabSize") {
                    Some(_) => "tlabSize",
                    None => "allocationSize",
                };
                vec![number(values, buffer)?]
            }
            EventKind::Enter => {
                class = places.class(values, "monitorClass")?;
                vec![nanos(values, "duration", chunk)?, 1]
            }
            EventKind::Wait(state) => {
                stack = places.known.under(stack, state);
                vec![nanos(values, "duration", chunk)?]
            }
            EventKind::Own(place) | EventKind::InStep(place) => {
                class = places.class(values, "objectClass")?;
                self.own(values, OWN[place].metrics, chunk)?
            }
            EventKind::SampledTime => return self.own_times.sampled(values, chunk),
        };
        let mut labels = Labels {
            thread,
            class,
            ..Labels::default()
        };
        if let EventKind::Own(_) | EventKind::InStep(_) = kind {
            labels.host = places.name(values, "host")?;
            labels.file = places.name(values, "file")?;
            labels.lock = places.name(values, "lock")?;
            let empty = places.known.profile.names.intern("");
            labels.lock = labels.lock.filter(|&lock| lock != empty);
            labels.holder = places.stack_in(values, "holderStackTrace")?;
        }
        let labels = places.known.profile.intern_labels(labels);
        let time = EventTime::of(values, chunk)?;
        let span = match kind {
            EventKind::InStep(place) => {
                let own = OWN[place].metrics.iter().zip(row);
                for (&metric, value) in own.filter(|(_, value)| *value > 0) {
                    self.own_times
                        .add(metric, (stack, labels), time.stated(), value);
                }
                return Ok(());
            }
            EventKind::Enter | EventKind::Wait(_) => time.after(self.begin(chunk)),
            _ => time.start(),
        };
        self.add(kind, (stack, labels), span, &row);
        if kind == EventKind::Enter {
            // The same time is elapsed time, too.
            let blocked = places.known.under(stack, BLOCKED);
            self.add(EventKind::Wait(BLOCKED), (blocked, labels), span, &row[..1]);
        }
        Ok(())
    }

    /// Adds the values of an event to the sums and to those of its time.
    fn add(&mut self, kind: EventKind, key: (StackId, LabelsId), span: Span, values: &[u64]) {
        let rows = self.rows.entry(kind).or_default();
        let sums = rows.entry(key).or_insert_with(|| vec![0; values.len()]);
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(value);
        }
        if let EventKind::Own(_) = kind {
            return;
        }
        let times = self.times.entry(kind).or_default();
        times.resize_with(values.len(), Steps::default);
        for (steps, &value) in times.iter_mut().zip(values) {
            steps.spread(key, span, value);
        }
    }

    /// Returns the time at which the chunks so far begin, in milliseconds since 1970.
    fn begin(&mut self, chunk: &Chunk) -> u64 {
        let of_chunk = chunk.header().start_nanos / NANOS_PER_MILLI;
        let begin = self.begin.map_or(of_chunk, |begin| begin.min(of_chunk));
        *self.begin.insert(begin)
    }

    /// Returns the values of a row of a profile.
    fn own(
        &mut self,
        values: Struct<'_>,
        metrics: &[Metric],
        chunk: &Chunk,
    ) -> Result<Vec<u64>, ReadError> {
        let value = |&metric: &Metric| {
            let (field, _) = field_name(metric);
            if values.of().field(field).is_some() {
                self.own.insert(metric);
            }
            match metric.unit() {
                Unit::Nanoseconds => nanos(values, field, chunk),
                Unit::Bytes | Unit::Count => number(values, field),
            }
        };
        metrics.iter().map(value).collect()
    }

    fn pass_over(&mut self, event: &Event<'_>) {
        let name = &event.of().name;
        if name.starts_with(OF_JDK) || event.of().field("stackTrace").is_none() {
            return;
        }
        match self.unknown.get_mut(&**name) {
            Some(count) => *count += 1,
            None => drop(self.unknown.insert((&**name).into(), 1)),
        }
    }

    /// Returns a remark on the events that may be samples of another profiler, and are not read.
    pub(super) fn not_read(&self) -> Option<String> {
        let mut unknown: Vec<(&str, u64)> = self
            .unknown
            .iter()
            .map(|(name, &count)| (&**name, count))
            .collect();
        unknown.sort_by_key(|&(name, count)| (Reverse(count), name));
        let (named, rest) = unknown.split_at(unknown.len().min(MOST_NAMED));
        let named = named.iter().map(|&(name, count)| {
            let name = printable(name);
            format!("{} ({})", shortened(&name), grouped(count))
        });
        let rest = (!rest.is_empty()).then(|| format!("{} other types", rest.len()));
        let all: Vec<String> = named.chain(rest).collect();
        (!all.is_empty())
            .then(|| format!("events with stacks that are not read: {}", all.join(", ")))
    }

    fn kind(&mut self, name: &str) -> Option<EventKind> {
        if let Some(&kind) = self.kinds.get(name) {
            return kind;
        }
        let kind = EventKind::of(name);
        self.kinds.insert(name.into(), kind);
        kind
    }

    /// Makes tables of the sums. What several kinds of events measure counts once, by the most exact of them.
    pub(super) fn tell(mut self, about: &About, profile: &mut Profile) {
        if self
            .rows
            .keys()
            .any(|kind| matches!(kind, EventKind::Own(_)))
        {
            for (place, own) in OWN.iter().enumerate() {
                if let Some(rows) = self.rows.remove(&EventKind::Own(place)) {
                    // A recording of another profiler, exported, has bytes and no number of objects.
                    let has = own.metrics.iter().map(|metric| self.own.contains(metric));
                    let has: Vec<bool> = has.collect();
                    let metrics = own.metrics.iter().zip(&has);
                    let metrics = metrics.filter_map(|(&metric, &has)| has.then_some(metric));
                    let metrics: Vec<Metric> = metrics.collect();
                    table(profile, &metrics, rows, |values| {
                        let values = values.into_iter().zip(&has);
                        values
                            .filter_map(|(value, &has)| has.then_some(value))
                            .collect()
                    });
                }
            }
            let mut stackless = None;
            self.own_times.tell(profile, |profile, (stack, labels)| {
                (with_frames(profile, stack, &mut stackless), labels)
            });
            return;
        }
        let of_cpu = self.one_of(profile, &[EventKind::CpuTime, EventKind::Execution]);
        if let Some((kind, rows)) = of_cpu {
            table(profile, &[Metric::Cpu], rows, |values| values);
            let times = self.steps(kind, 0);
            timeline(times, Metric::Cpu, about, profile);
        }
        profile.interval = match self.period {
            Some(period) => period.map(Duration::from_nanos),
            None => about.cpu_interval(),
        };
        self.elapsed(about, profile);
        let of_bytes = self.one_of(profile, &[EventKind::Buffer, EventKind::Allocation]);
        if let Some((kind, rows)) = of_bytes {
            table(profile, &[Metric::AllocBytes], rows, |values| values);
            let times = self.steps(kind, 0);
            timeline(times, Metric::AllocBytes, about, profile);
            profile.estimated.push(Metric::AllocBytes);
        }
        if let Some(rows) = self.rows.remove(&EventKind::Enter) {
            let metrics = [Metric::Contention, Metric::Contentions];
            table(profile, &metrics, rows, |values| values);
            for (column, metric) in metrics.into_iter().enumerate() {
                let times = self.steps(EventKind::Enter, column);
                timeline(times, metric, about, profile);
            }
            // Only waits above the recording's threshold are events.
            profile.estimated.extend(metrics);
        }
    }

    /// Takes the samples of all threads, or else what is known of waits and of native code.
    fn elapsed(&mut self, about: &About, profile: &mut Profile) {
        let times = |values: Vec<u64>, nanos: u64| {
            let values = values.into_iter();
            values.map(|value| value.saturating_mul(nanos)).collect()
        };
        if let Some(rows) = self.rows.remove(&EventKind::WallClock) {
            let nanos = about.wall_interval();
            table(profile, &[Metric::Wall], rows, |v| times(v, nanos));
            let mut steps = self.steps(EventKind::WallClock, 0);
            steps.multiply(nanos);
            timeline(steps, Metric::Wall, about, profile);
            return;
        }
        let mut steps = Steps::default();
        let mut has_rows = false;
        if let Some(rows) = self.rows.remove(&EventKind::Native) {
            let nanos = about.native_interval();
            table(profile, &[Metric::Wall], rows, |v| times(v, nanos));
            let mut of_native = self.steps(EventKind::Native, 0);
            of_native.multiply(nanos);
            steps.join(of_native);
            has_rows = true;
        }
        let waits = self.rows.keys().copied();
        let mut waits: Vec<EventKind> = waits
            .filter(|kind| matches!(kind, EventKind::Wait(_)))
            .collect();
        waits.sort_by_key(|kind| match kind {
            EventKind::Wait(state) => *state,
            _ => "",
        });
        for kind in waits {
            if let Some(rows) = self.rows.remove(&kind) {
                table(profile, &[Metric::Wall], rows, |values| values);
                steps.join(self.steps(kind, 0));
                has_rows = true;
            }
        }
        if has_rows {
            timeline(steps, Metric::Wall, about, profile);
        }
    }

    /// Takes the times of a column of a kind.
    fn steps(&mut self, kind: EventKind, column: usize) -> Steps {
        let times = self.times.get_mut(&kind);
        let steps = times.and_then(|times| times.get_mut(column));
        steps.map(std::mem::take).unwrap_or_default()
    }

    /// Returns the rows of the first of these kinds that there is, and notes what is left out.
    fn one_of(
        &mut self,
        profile: &mut Profile,
        kinds: &[EventKind; 2],
    ) -> Option<(EventKind, Rows)> {
        let [first, second] = kinds.map(|kind| Some((kind, self.rows.remove(&kind)?)));
        if let (Some((kept, _)), Some((left, _))) = (&first, &second) {
            profile.notes.push(format!(
                "{} is left out: {} measures the same, and is in the recording too",
                left.name(),
                kept.name()
            ));
        }
        first.or(second)
    }
}

/// Tells the profile when the values of a metric were measured.
fn timeline(mut times: Steps, metric: Metric, about: &About, profile: &mut Profile) {
    let Some(span) = about.span() else { return };
    times.cover(span);
    let mut stackless = None;
    let timeline = times.timeline(metric, |stack, labels| {
        (with_frames(profile, stack, &mut stackless), labels)
    });
    profile.timelines.extend(timeline);
}

/// Adds rows to a table of the profile. Those without a stack get a frame in place of one.
fn table(
    profile: &mut Profile,
    metrics: &[Metric],
    rows: Rows,
    values: impl Fn(Vec<u64>) -> Vec<u64>,
) {
    let mut stackless = None;
    profile.table(metrics);
    for ((stack, labels), row) in rows {
        let stack = with_frames(profile, stack, &mut stackless);
        profile.table(metrics).push(stack, labels, &values(row));
    }
}

/// Returns the stack, or one in place of it if it has no frames.
fn with_frames(profile: &mut Profile, stack: StackId, stackless: &mut Option<StackId>) -> StackId {
    if !profile.stacks.frames(stack).is_empty() {
        return stack;
    }
    *stackless.get_or_insert_with(|| {
        let frame = profile.marker(crate::markers::NO_FRAMES);
        profile.stacks.push([frame])
    })
}
