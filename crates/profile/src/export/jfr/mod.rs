//! A recording of the JDK Flight Recorder. Every table of the profile is events of a type of this project's, with the
//! values as they are; CPU samples and allocations are the JDK's own events too, which every viewer knows.

mod stacks;
mod types;

use std::io::{self, Write};

use hprof_jfr::{
    EventField, EventType, FieldKind, FieldValue, LabelId, Recording, StackId as Stack, WriteError,
};

use crate::jfr::{OwnEvent, field_name};
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

impl Export<'_> {
    fn write(&mut self, out: impl Write) -> Result<(), WriteError> {
        self.facts()?;
        for table in self.profile.tables() {
            self.table(table)?;
        }
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
        let has_state = table.metrics().contains(&Metric::Wall);
        let has_holder = table.metrics().contains(&Metric::LockWait);
        let origins = self.origins();
        let event_type = own_type(own, table.metrics(), &origins);
        let event_type = self.recording.event_type(event_type);
        for (stack, labels, values) in table.rows() {
            let [thread, stacked, class] = self.thread_stack_class(stack, labels);
            let mut row = vec![thread, stacked, class];
            if has_state {
                row.push(FieldValue::State(self.state(stack)));
            }
            let labels = self.profile.labels(labels);
            let text = |name: Option<_>| name.map_or("", |name| self.profile.names.text(name));
            let holder = self.profile.holder(labels).unwrap_or_default();
            if has_holder {
                row.extend([
                    FieldValue::Text(text(labels.lock)),
                    FieldValue::Text(&holder),
                ]);
            }
            for origin in &origins {
                let name = match *origin {
                    "host" => labels.host,
                    _ => labels.file,
                };
                row.push(FieldValue::Text(text(name)));
            }
            row.extend(values.iter().map(|&value| FieldValue::Number(value)));
            self.recording.event(event_type, 0, &row)?;
        }
        Ok(())
    }

    /// Returns the labels that samples have beside thread and class: a sum of several profiles may have them.
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

/// Returns the type of events for the rows of a table.
fn own_type(own: &OwnEvent, metrics: &[Metric], origins: &[&'static str]) -> EventType {
    let mut fields = vec![EventField::THREAD, EventField::STACK, types::CLASS];
    if metrics.contains(&Metric::Wall) {
        fields.push(types::STATE);
    }
    if metrics.contains(&Metric::LockWait) {
        fields.extend([types::LOCK, types::HOLDER]);
    }
    fields.extend(origins.iter().map(|&name| EventField {
        name,
        label: if name == "host" { "Host" } else { "File" },
        kind: FieldKind::Text,
    }));
    fields.extend(metrics.iter().map(|&metric| {
        let (name, label) = field_name(metric);
        let kind = match metric.unit() {
            Unit::Bytes => FieldKind::Bytes,
            Unit::Nanoseconds => FieldKind::Nanoseconds,
            Unit::Count => FieldKind::Count,
        };
        EventField { name, label, kind }
    }));
    EventType {
        name: own.name,
        label: own.label,
        description: own.description,
        category: types::OWN_CATEGORY,
        fields,
    }
}
