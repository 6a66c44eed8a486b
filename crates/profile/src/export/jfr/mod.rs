//! A recording of the JDK Flight Recorder. Every table of the profile is events of a type of this project's, with the
//! values as they are; CPU samples and allocations are the JDK's own events too, which every viewer knows.

mod stacks;
mod types;

use std::io::{self, Write};

use hprof_jfr::{
    EventField, EventType, FieldKind, FieldValue, LabelId, Recording, StackId as Stack, WriteError,
};

use crate::jfr::{OWN, OwnEvent, field_name};
use crate::metric::{Metric, Unit};
use crate::model::{LabelsId, Profile, StackId, Table, Timeline};
use stacks::WrittenStacks;
use types::{Standard, state_of};

/// The most samples that are written as an event each. Beyond that, their number is divided.
const MOST_SAMPLES: u64 = 4_000_000;
const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// Returns the divisor of the number of `jdk.ExecutionSample`: a power of ten, and 1 unless there are very many.
#[must_use]
pub fn jfr_divisor(profile: &Profile) -> u64 {
    let total = profile.total(Metric::Cpu);
    let mut divisor = 1;
    while total / divisor > MOST_SAMPLES {
        divisor *= 10;
    }
    divisor
}

/// Writes the whole profile. CPU samples have the times that the file has, to its steps of time. In a file without times they
/// are placed one after another over the length of the run.
///
/// # Errors
/// Those of `out`.
pub fn jfr(profile: &Profile, out: impl Write) -> io::Result<()> {
    let (created, length) = profile.period();
    let nanos = length.saturating_mul(NANOS_PER_MICRO);
    let start = created.saturating_mul(NANOS_PER_MILLI);
    let samples = profile.total(Metric::Cpu) / jfr_divisor(profile);
    let mut export = Export {
        profile,
        stacks: WrittenStacks::new(profile),
        recording: Recording::new(start, nanos.max(1)),
        step: nanos / samples.max(1),
        time: 0,
    };
    let written = export.write(out);
    written.map_err(|error| match error {
        WriteError::Io(error) => error,
        error => io::Error::other(error),
    })
}

struct Export<'a> {
    profile: &'a Profile,
    stacks: WrittenStacks,
    recording: Recording,
    /// The time between two samples.
    step: u64,
    /// The time of the next sample, since the beginning.
    time: u64,
}

impl<'a> Export<'a> {
    fn write(&mut self, out: impl Write) -> Result<(), WriteError> {
        self.facts()?;
        for table in self.profile.tables() {
            self.table(table)?;
        }
        self.times()?;
        self.cpu_samples()?;
        self.allocations()?;
        self.course()?;
        self.recording.write(out)
    }

    /// Writes the rows of a table as they are.
    fn table(&mut self, table: &Table) -> Result<(), WriteError> {
        let Some(own) = OwnEvent::of(table.metrics()) else {
            return Ok(());
        };
        let columns = self.columns(table.metrics());
        let fields = columns.fields();
        let event_type =
            self.recording
                .event_type(own_type(own.name, own.label, own.description, fields));
        for (stack, labels, values) in table.rows() {
            let holder = self.holder(labels);
            let mut row = self.keys(stack, labels, &holder, &columns);
            row.extend(values.iter().map(|&value| FieldValue::Number(value)));
            self.recording.event(event_type, 0, &row)?;
        }
        Ok(())
    }

    /// Writes the values of samples by the time at which they were taken, as far as that is known.
    fn times(&mut self) -> Result<(), WriteError> {
        let profile = self.profile;
        if profile.timelines().is_empty() {
            return Ok(());
        }
        let sampled_time = Standard::SampledTime.event_type();
        let sampled_time = self.recording.event_type(sampled_time);
        for timeline in profile.timelines() {
            let TimeOfEvent { start, duration } = self.time_of(timeline.begin, timeline.millis);
            let values = [
                FieldValue::Number(duration),
                FieldValue::Text(timeline.metric.name()),
                FieldValue::Number(timeline.begin),
                FieldValue::Number(timeline.step.saturating_mul(NANOS_PER_MILLI)),
            ];
            self.recording.event(sampled_time, start, &values)?;
        }
        for own in &OWN {
            let timelines = profile.timelines().iter();
            let timelines: Vec<&Timeline> = timelines
                .filter(|timeline| own.metrics.contains(&timeline.metric))
                .collect();
            if !timelines.is_empty() {
                self.in_steps(own, &timelines)?;
            }
        }
        Ok(())
    }

    /// Writes an event for each stack and step. The values of the type's other metrics are 0 in it.
    fn in_steps(&mut self, own: &OwnEvent, timelines: &[&Timeline]) -> Result<(), WriteError> {
        let metrics: Vec<Metric> = timelines.iter().map(|timeline| timeline.metric).collect();
        let columns = self.columns(&metrics);
        let mut fields = vec![EventField::DURATION];
        fields.extend(columns.fields());
        let event_type =
            self.recording
                .event_type(own_type(own.in_step, own.label, own.description, fields));
        for timeline in timelines {
            for row in &timeline.rows {
                let holder = self.holder(row.labels);
                let keys = self.keys(row.stack, row.labels, &holder, &columns);
                for &(step, value) in &row.values {
                    let begin = timeline.step.saturating_mul(step.into());
                    let begin = timeline.begin.saturating_add(begin);
                    let TimeOfEvent { start, duration } = self.time_of(begin, timeline.step);
                    let mut values = vec![FieldValue::Number(duration)];
                    values.extend(&keys);
                    let of_metric = |&metric: &Metric| match metric == timeline.metric {
                        true => FieldValue::Number(value),
                        false => FieldValue::Number(0),
                    };
                    values.extend(metrics.iter().map(of_metric));
                    self.recording.event(event_type, start, &values)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the time of an event that begins at `begin`, in milliseconds since 1970, and takes so many. Events do not begin
    /// before the recording.
    fn time_of(&self, begin: u64, millis: u64) -> TimeOfEvent {
        let (created, _) = self.profile.period();
        let end = begin.saturating_add(millis).saturating_sub(created);
        let start = begin.saturating_sub(created);
        TimeOfEvent {
            start: start.saturating_mul(NANOS_PER_MILLI),
            duration: (end - start).saturating_mul(NANOS_PER_MILLI),
        }
    }

    fn columns(&self, metrics: &[Metric]) -> Columns {
        Columns {
            has_state: metrics.contains(&Metric::Wall),
            has_holder: metrics.contains(&Metric::LockWait),
            origins: self.origins(),
            metrics: metrics.to_vec(),
        }
    }

    /// Returns the method that held the lock which labels name, as text; empty if it is not known.
    fn holder(&self, labels: LabelsId) -> String {
        let labels = self.profile.labels(labels);
        self.profile.holder(labels).unwrap_or_default()
    }

    /// Returns the values of a row but for those of its metrics.
    fn keys<'b>(
        &mut self,
        stack: StackId,
        labels: LabelsId,
        holder: &'b str,
        columns: &Columns,
    ) -> Vec<FieldValue<'b>>
    where
        'a: 'b,
    {
        let mut row: Vec<FieldValue<'b>> = self.thread_stack_class(stack, labels).into();
        if columns.has_state {
            row.push(FieldValue::State(self.state(stack)));
        }
        let profile = self.profile;
        let labels = profile.labels(labels);
        let text = |name: Option<_>| name.map_or("", |name| profile.names.text(name));
        if columns.has_holder {
            let stack = labels.holder.map(|holder| self.stack(holder));
            row.extend([
                FieldValue::Text(text(labels.lock)),
                FieldValue::Text(holder),
                FieldValue::Stack(stack),
            ]);
        }
        for origin in &columns.origins {
            let name = match *origin {
                "host" => labels.host,
                _ => labels.file,
            };
            row.push(FieldValue::Text(text(name)));
        }
        row
    }

    /// Returns the labels that samples have in addition to thread and class: a sum of several profiles may have them.
    fn origins(&self) -> Vec<&'static str> {
        let mut sets = self.profile.label_sets();
        let host = sets.any(|labels| labels.host.is_some());
        let mut sets = self.profile.label_sets();
        let file = sets.any(|labels| labels.file.is_some());
        let both = [("host", host), ("file", file)];
        let both = both
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name));
        both.collect()
    }

    /// Writes `jdk.ExecutionSample`. Views of the JDK's `jfr` fail without the type, so even no events have it.
    fn cpu_samples(&mut self) -> Result<(), WriteError> {
        let divisor = jfr_divisor(self.profile);
        let event_type = self
            .recording
            .event_type(Standard::ExecutionSample.event_type());
        let runnable = self.recording.thread_states.intern(state_of(None));
        if let Some(timeline) = self.profile.timeline(Metric::Cpu) {
            let divided = |value: u64| value.div_ceil(divisor);
            let (begin, length) = self.profile.period();
            for sample in samples_in_time(timeline, begin, divided) {
                let row = &timeline.rows[sample.row];
                let [thread, stack, _] = self.thread_stack_class(row.stack, row.labels);
                let values = [thread, stack, FieldValue::State(runnable)];
                // The last step may end after the last record.
                let nanos = sample.nanos.min(length.saturating_mul(NANOS_PER_MICRO));
                self.recording.event(event_type, nanos, &values)?;
            }
            return Ok(());
        }
        for sample in self.profile.samples(Metric::Cpu) {
            let [thread, stack, _] = self.thread_stack_class(sample.stack, sample.labels);
            let values = [thread, stack, FieldValue::State(runnable)];
            for _ in 0..sample.value.div_ceil(divisor) {
                self.recording.event(event_type, self.time, &values)?;
                self.time = self.time.saturating_add(self.step);
            }
        }
        Ok(())
    }

    fn allocations(&mut self) -> Result<(), WriteError> {
        let event_type = Standard::ObjectAllocationSample.event_type();
        let event_type = self.recording.event_type(event_type);
        for sample in self.profile.samples(Metric::AllocBytes) {
            if sample.value > 0 {
                let [thread, stack, class] = self.thread_stack_class(sample.stack, sample.labels);
                let values = [thread, stack, class, FieldValue::Number(sample.value)];
                self.recording.event(event_type, 0, &values)?;
            }
        }
        Ok(())
    }

    /// Writes the objects alive over time, at their times.
    fn course(&mut self) -> Result<(), WriteError> {
        let Some(course) = &self.profile.history.course else {
            return Ok(());
        };
        let event_type = self
            .recording
            .event_type(Standard::LiveObjects.event_type());
        for point in &course.all {
            let time = point.millis.saturating_mul(NANOS_PER_MILLI);
            let values = [
                point.most_bytes,
                point.fewest_objects,
                point.allocated_bytes,
                point.allocated_objects,
                point.collections.into(),
            ];
            let values = values.map(FieldValue::Number);
            self.recording.event(event_type, time, &values)?;
        }
        Ok(())
    }

    fn facts(&mut self) -> Result<(), WriteError> {
        let profile = self.profile;
        let fact = |wanted: &str| {
            let found = profile.facts.iter().find(|(label, _)| label == wanted);
            found.map_or("", |(_, value)| value.as_str())
        };
        // 17.0.15+6 (OpenJDK 64-Bit Server VM, Debian)
        let (version, names) = fact("JDK").split_once(" (").unwrap_or((fact("JDK"), ""));
        let name = names.split(',').next().unwrap_or_default();
        let event_type = Standard::JvmInformation.event_type();
        let event_type = self.recording.event_type(event_type);
        let values = [
            FieldValue::Text(name.trim_end_matches(')')),
            FieldValue::Text(version),
            FieldValue::Text(fact("Flags")),
            FieldValue::Text(""),
            FieldValue::Text(fact("Program")),
            FieldValue::Number(profile.created),
            FieldValue::Number(profile.process.unwrap_or_default().into()),
        ];
        self.recording.event(event_type, 0, &values)?;
        let notes = profile.notes.iter().map(|note| ("Note", note.as_str()));
        let facts = profile.facts.iter();
        let facts = facts.map(|(label, value)| (label.as_str(), value.as_str()));
        let event_type = self.recording.event_type(Standard::Fact.event_type());
        for (label, value) in facts.chain(notes) {
            let values = [FieldValue::Text(label), FieldValue::Text(value)];
            self.recording.event(event_type, 0, &values)?;
        }
        Ok(())
    }

    /// Returns the thread, the stack and the class of a sample.
    fn thread_stack_class(&mut self, stack: StackId, labels: LabelsId) -> [FieldValue<'static>; 3] {
        let labels = self.profile.labels(labels);
        let text = |name| self.profile.names.text(name);
        let thread = labels
            .thread
            .map(|name| self.recording.threads.intern(text(name)));
        let class = labels.class.map(|name| {
            let name = crate::write::class_file_name(text(name));
            let symbols = &mut self.recording.symbols;
            self.recording.classes.intern(symbols, &name)
        });
        let stack = self.stack(stack);
        [
            FieldValue::Thread(thread),
            FieldValue::Stack(Some(stack)),
            FieldValue::Class(class),
        ]
    }

    fn stack(&mut self, stack: StackId) -> Stack {
        self.stacks
            .written(self.profile, stack, &mut self.recording)
    }

    /// Returns the state of the thread that the innermost frame of a stack stands for.
    fn state(&mut self, stack: StackId) -> LabelId {
        let innermost = self.profile.stacks.frames(stack).first();
        let state = innermost
            .map(|&frame| self.profile.frame(frame))
            .filter(|frame| self.profile.is_state(frame));
        let state = state.map(|frame| self.profile.names.text(frame.method));
        self.recording.thread_states.intern(state_of(state))
    }
}

/// The time of an event, in nanoseconds since the beginning of the recording.
struct TimeOfEvent {
    start: u64,
    duration: u64,
}

/// A sample at its time.
struct SampleInTime {
    /// Since the beginning of the recording.
    nanos: u64,
    /// The number of its row.
    row: usize,
}

/// Returns the samples in the order of time, spread over their steps. `number` returns how many a value is.
fn samples_in_time(
    timeline: &Timeline,
    begin: u64,
    number: impl Fn(u64) -> u64,
) -> Vec<SampleInTime> {
    let step = timeline.step.saturating_mul(NANOS_PER_MILLI);
    let first = timeline.begin.saturating_sub(begin);
    let first = first.saturating_mul(NANOS_PER_MILLI);
    let mut samples = Vec::new();
    for (row, values) in timeline.rows.iter().map(|row| &row.values).enumerate() {
        for &(number_of_step, value) in values {
            let start = first.saturating_add(step.saturating_mul(number_of_step.into()));
            let count = number(value);
            for sample in 0..count {
                // In the middle of its part of the step.
                let part =
                    u128::from(step) * (2 * u128::from(sample) + 1) / (2 * u128::from(count));
                let nanos = start.saturating_add(u64::try_from(part).unwrap_or(step));
                samples.push(SampleInTime { nanos, row });
            }
        }
    }
    samples.sort_by_key(|sample| sample.nanos);
    samples
}

/// The fields of a type of events for rows.
struct Columns {
    has_state: bool,
    has_holder: bool,
    origins: Vec<&'static str>,
    metrics: Vec<Metric>,
}

impl Columns {
    fn fields(&self) -> Vec<EventField> {
        let mut fields = vec![EventField::THREAD, EventField::STACK, types::CLASS];
        if self.has_state {
            fields.push(types::STATE);
        }
        if self.has_holder {
            fields.extend([types::LOCK, types::HOLDER, types::HOLDER_STACK]);
        }
        fields.extend(self.origins.iter().map(|&name| EventField {
            name,
            label: if name == "host" { "Host" } else { "File" },
            kind: FieldKind::Text,
        }));
        fields.extend(self.metrics.iter().map(|&metric| {
            let (name, label) = field_name(metric);
            let kind = match metric.unit() {
                Unit::Bytes => FieldKind::Bytes,
                Unit::Nanoseconds => FieldKind::Nanoseconds,
                Unit::Count => FieldKind::Count,
            };
            EventField { name, label, kind }
        }));
        fields
    }
}

/// Returns a type of events of this project.
fn own_type(
    name: &'static str,
    label: &'static str,
    description: &'static str,
    fields: Vec<EventField>,
) -> EventType {
    EventType {
        name,
        label,
        description,
        category: types::OWN_CATEGORY,
        fields,
    }
}
