//! The model: frames, stacks, and tables of samples.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use hprof_format::{
    Age, CoursePoint, Line, MemoryLook, NativeErrors, Note, NoteMeaning, Peak, StandardErrors,
    Uncounted, sampling_interval,
};
use indexmap::IndexSet;

use crate::metric::Metric;
use crate::names::{Name, Names};
use crate::number::number;

/// A frame of one [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A stack of one [`Profile`]. Two ids may name equal stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// A set of labels of one [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelsId(pub u32);

/// The way a frame's code ran, as far as the file reveals it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A Java method.
    Java,
    /// A Java method that is only known to have been compiled.
    Compiled,
    /// A native method.
    Native,
    /// Not a method: stands for costs without a stack in the file.
    Marker,
}

impl FrameKind {
    /// Returns the kind of a FRAME record; `class` is the name of its class.
    #[must_use]
    pub fn of(class: &str, line: Line) -> FrameKind {
        match line {
            _ if class.is_empty() => FrameKind::Marker,
            Line::Native => FrameKind::Native,
            Line::Compiled => FrameKind::Compiled,
            Line::Number(_) | Line::Unknown => FrameKind::Java,
        }
    }

    /// Returns its name in exports: `java`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FrameKind::Java => "java",
            FrameKind::Compiled => "compiled",
            FrameKind::Native => "native",
            FrameKind::Marker => "marker",
        }
    }
}

/// A method and a position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The class, as in Java source; empty for a marker.
    pub class: Name,
    /// The method.
    pub method: Name,
    /// Its signature, `(I)V`; the text format has none.
    pub signature: Option<Name>,
    /// Its source file.
    pub source: Option<Name>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The way it ran.
    pub kind: FrameKind,
}

/// The properties of a sample other than its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    /// The thread's name.
    pub thread: Option<Name>,
    /// The class that was allocated, or whose monitor was wanted, as in Java source.
    pub class: Option<Name>,
    /// The lock that was waited for, as `Desk@1b2c3d`, if it is told apart from others of its class.
    pub lock: Option<Name>,
    /// The stack of the thread that held the lock.
    pub holder: Option<StackId>,
    /// The machine.
    pub host: Option<Name>,
    /// The file that it was read from, if there were several.
    pub file: Option<Name>,
}

/// All stacks, one after another.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<FrameId>,
    ends: Vec<usize>,
}

impl Stacks {
    /// Adds a stack, innermost frame first.
    pub fn push(&mut self, frames: impl IntoIterator<Item = FrameId>) -> StackId {
        let id = StackId(number(self.ends.len()));
        self.frames.extend(frames);
        self.ends.push(self.frames.len());
        id
    }

    /// Returns the frames of a stack, innermost first.
    #[must_use]
    #[inline]
    pub fn frames(&self, stack: StackId) -> &[FrameId] {
        let index = stack.0 as usize;
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        &self.frames[start..self.ends[index]]
    }

    /// Returns the ids of all stacks, in their order.
    pub fn ids(&self) -> impl Iterator<Item = StackId> + use<> {
        (0..number(self.len())).map(StackId)
    }

    /// Replaces the frames by others.
    pub(crate) fn rename(&mut self, other: impl Fn(FrameId) -> FrameId) {
        for frame in &mut self.frames {
            *frame = other(*frame);
        }
    }

    /// Returns the number of stacks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no stacks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Samples that were measured together: each has a value for each of the table's metrics.
#[derive(Clone, Debug, Default)]
pub struct Table {
    metrics: Vec<Metric>,
    stacks: Vec<StackId>,
    labels: Vec<LabelsId>,
    /// The values of all samples, one sample after another.
    values: Vec<u64>,
}

impl Table {
    /// Creates an empty table.
    #[must_use]
    pub fn new(metrics: &[Metric]) -> Table {
        Table {
            metrics: metrics.to_vec(),
            ..Table::default()
        }
    }

    /// Returns the metrics.
    #[must_use]
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Adds a sample; `values` are in the order of the metrics.
    pub fn push(&mut self, stack: StackId, labels: LabelsId, values: &[u64]) {
        debug_assert_eq!(values.len(), self.metrics.len());
        self.stacks.push(stack);
        self.labels.push(labels);
        self.values.extend_from_slice(values);
    }

    /// Iterates over the samples with all their values.
    pub fn rows(&self) -> impl Iterator<Item = (StackId, LabelsId, &[u64])> {
        let values = self.values.chunks_exact(self.metrics.len().max(1));
        let keys = self.stacks.iter().zip(&self.labels);
        keys.zip(values)
            .map(|((&stack, &labels), values)| (stack, labels, values))
    }

    /// Multiplies all values.
    pub(crate) fn multiply(&mut self, factor: u64) {
        for value in &mut self.values {
            *value = value.saturating_mul(factor);
        }
    }

    /// Replaces the labels by others.
    pub(crate) fn relabel(&mut self, other: impl Fn(LabelsId) -> LabelsId) {
        for labels in &mut self.labels {
            *labels = other(*labels);
        }
    }

    /// Removes the other samples; returns the sum of each metric of those.
    pub(crate) fn retain(
        &mut self,
        is_kept: impl Fn(StackId, LabelsId) -> bool,
    ) -> Vec<(Metric, u64)> {
        let mut kept = Table::new(&self.metrics);
        let mut removed: Vec<(Metric, u64)> = self.metrics.iter().map(|&m| (m, 0)).collect();
        for (stack, labels, values) in self.rows() {
            if is_kept(stack, labels) {
                kept.push(stack, labels, values);
                continue;
            }
            for ((_, sum), value) in removed.iter_mut().zip(values) {
                *sum = sum.saturating_add(*value);
            }
        }
        *self = kept;
        removed
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Returns `true` if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }
}

/// One value of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The stack.
    pub stack: StackId,
    /// The labels.
    pub labels: LabelsId,
    /// The value, in the metric's unit.
    pub value: u64,
}

/// The form in which a file has a heap dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapDumpForm {
    /// As records, which a heap analysis can read.
    Binary,
    /// As lines.
    Text,
}

/// What changed over the time of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The collection after which most bytes were alive.
    pub peak: Option<Peak>,
    /// The live objects by site and age.
    pub ages: Vec<SiteAge>,
    /// The objects alive over time.
    pub course: Option<Course>,
    /// Where the memory of the process was, the earliest moment first.
    pub memory: Vec<MemoryLook>,
}

/// Live objects of one site and one age.
#[derive(Clone, Copy, Debug)]
pub struct SiteAge {
    /// The stack of the site.
    pub stack: StackId,
    /// Its other labels, with the class.
    pub labels: LabelsId,
    /// The age; `None` for objects from before the profile.
    pub age: Option<Age>,
    /// Bytes.
    pub bytes: u64,
    /// Objects.
    pub objects: u64,
}

/// The objects alive over time.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The number of collections since the profile began.
    pub collections: u32,
    /// The time since then, in milliseconds.
    pub millis: u64,
    /// The length of a step of the whole, in milliseconds.
    pub step: u64,
    /// The length of a step of a site, in milliseconds.
    pub site_step: u64,
    /// The whole.
    pub all: Vec<CoursePoint>,
    /// Sites that held most at some time, or grew.
    pub sites: Vec<SiteCourse>,
}

/// The live objects of one site over time.
#[derive(Clone, Debug)]
pub struct SiteCourse {
    /// The stack of the site.
    pub stack: StackId,
    /// Its other labels, with the class.
    pub labels: LabelsId,
    /// The points, in the order of time.
    pub points: Vec<CoursePoint>,
}

/// How native memory was sampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeFacts {
    /// The standard errors of the totals.
    pub(crate) errors: NativeErrors,
    /// The age from which on a block is old, in seconds.
    pub(crate) old: u64,
    /// The mean number of bytes between two samples.
    pub(crate) interval: u64,
}

impl NativeFacts {
    /// Returns what is true of the sum of two profiles.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |one: u64, other: u64| {
            StandardErrors([one, 0, 0, 0])
                .and(StandardErrors([other, 0, 0, 0]))
                .0[0]
        };
        Self {
            errors: NativeErrors {
                live: sum(self.errors.live, other.errors.live),
                old: sum(self.errors.old, other.errors.old),
                allocated: sum(self.errors.allocated, other.errors.allocated),
            },
            old: self.old.min(other.old),
            interval: self.interval.max(other.interval),
        }
    }
}

/// When the samples of a metric were taken. The time is divided into steps.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The metric.
    pub metric: Metric,
    /// The time at which the first step begins, in milliseconds since 1970.
    pub begin: u64,
    /// The time from then to the end, in milliseconds.
    pub millis: u64,
    /// The length of a step, in milliseconds; not 0.
    pub step: u64,
    /// The samples by stack.
    pub rows: Vec<TimelineRow>,
}

/// The samples of a stack in the course of time.
#[derive(Clone, Debug)]
pub struct TimelineRow {
    /// The stack.
    pub stack: StackId,
    /// The labels.
    pub labels: LabelsId,
    /// The numbers of the steps in which it has samples, and the values in the metric's unit, in the order of time.
    pub values: Vec<(u32, u64)>,
}

/// A part of the time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: u64,
    /// Its end, which is not part of it.
    pub to: u64,
}

impl History {
    /// Replaces the labels by others.
    pub(crate) fn relabel(&mut self, other: impl Fn(LabelsId) -> LabelsId) {
        let ages = self.ages.iter_mut().map(|age| &mut age.labels);
        let course = self.course.iter_mut();
        let sites = course.flat_map(|course| &mut course.sites);
        for labels in ages.chain(sites.map(|site| &mut site.labels)) {
            *labels = other(*labels);
        }
    }
}

/// One dump of one run, or the sum of several.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// All texts.
    pub names: Names,
    pub(crate) frames: IndexSet<Frame, RandomState>,
    /// All stacks.
    pub stacks: Stacks,
    pub(crate) labels: IndexSet<Labels, RandomState>,
    pub(crate) tables: Vec<Table>,
    /// How long objects lived, and what was alive over time.
    pub history: History,
    /// When samples were taken.
    pub(crate) timelines: Vec<Timeline>,
    /// The part of the run to which it is limited.
    pub(crate) span: Option<Span>,
    /// The values that were left out then.
    pub(crate) without_times: Vec<Metric>,
    /// The time at which the run began, in milliseconds since 1970; 0 if unknown.
    pub created: u64,
    /// The time from then to the file's last record, in microseconds; 0 if unknown.
    pub length: u64,
    /// The CPU time that the process used meanwhile, if the file has it.
    pub process_cpu: Option<Duration>,
    /// The process id, if the file has it.
    pub process: Option<u32>,
    /// The form of the heap dumps in the file, if it has any.
    pub heap_dump: Option<HeapDumpForm>,
    /// The notes in the file.
    pub notes: Vec<String>,
    /// The number of threads by their name, of those that have costs.
    pub(crate) threads_named: BTreeMap<Name, u32>,
    /// The names of the sections in the file that this version cannot read.
    pub unknown_sections: Vec<String>,
    /// The facts about the run in the file's head, with their labels: `Program`, `JDK`, `Options`.
    pub facts: Vec<(String, String)>,
    /// The limits on frames with which its stacks were taken (`depth=`), in order; several for the sum of several runs,
    /// none if the file does not say it.
    pub depths: Vec<u32>,
    /// For each stack, the limit at which it was cut, where its frames do not tell it any more.
    pub(crate) cut: Option<Vec<Option<u32>>>,
    /// The standard errors of the totals that are estimates.
    pub(crate) errors: Option<StandardErrors>,
    /// What is known of how native memory was sampled.
    pub(crate) native: Option<NativeFacts>,
    /// The metrics that are projected from some events, without a standard error.
    pub(crate) estimated: Vec<Metric>,
    /// The CPU time that a sample stands for, where no option in its head gives it.
    pub(crate) interval: Option<Duration>,
    /// The advice for whole stacks, where the agent's option is not it.
    pub(crate) about_depth: Option<&'static str>,
    /// The agent's own part, if it was left out.
    pub(crate) left_out: Vec<(Metric, u64)>,
    /// The number of this dump in the run, from 1.
    pub section: u32,
    /// The number of dumps in the file.
    pub sections: u32,
}

impl Profile {
    /// Returns the tables.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns a profile of one dump that has these tables instead; their samples have stacks and labels of this one.
    #[must_use]
    pub fn with_tables(&self, tables: Vec<Table>) -> Profile {
        Profile {
            tables,
            section: 1,
            sections: 1,
            ..self.clone()
        }
    }

    /// Returns the table of these metrics, creating it if necessary.
    pub(crate) fn table(&mut self, metrics: &[Metric]) -> &mut Table {
        let found = self.tables.iter().position(|t| t.metrics == metrics);
        let index = found.unwrap_or_else(|| {
            self.tables.push(Table::new(metrics));
            self.tables.len() - 1
        });
        &mut self.tables[index]
    }

    /// Returns the profile's metrics, the most wanted first.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let all = self.tables.iter().flat_map(|table| &table.metrics);
        let mut metrics: Vec<Metric> = all.copied().collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    /// Returns `true` if the profile has a metric.
    #[must_use]
    pub fn has(&self, metric: Metric) -> bool {
        self.tables
            .iter()
            .any(|table| table.metrics.contains(&metric))
    }

    /// Iterates over the samples of one metric; none if the profile does not have it. Values may be 0.
    pub fn samples(&self, metric: Metric) -> impl Iterator<Item = Sample> {
        let place = move |table: &Table| table.metrics.iter().position(|&m| m == metric);
        let tables = self.tables.iter();
        let tables = tables.filter_map(move |table| Some((table, place(table)?)));
        tables.flat_map(|(table, place)| {
            table.rows().map(move |(stack, labels, values)| Sample {
                stack,
                labels,
                value: values[place],
            })
        })
    }

    /// Returns the CPU time that a sample stands for, which a head with the agent's options gives.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        if self.interval.is_some() {
            return self.interval;
        }
        let options = self.facts.iter().find(|(label, _)| label == "Options");
        let (_, options) = options?;
        sampling_interval(options)
    }

    /// Returns the methods whose calls were no longer counted, as the notes tell.
    pub fn uncounted(&self) -> impl Iterator<Item = Uncounted> {
        let meanings = self.notes.iter().map(|note| NoteMeaning::of(note));
        meanings.filter_map(|meaning| match meaning {
            NoteMeaning::Uncounted(uncounted) => Some(uncounted),
            _ => None,
        })
    }

    /// Returns what the file says that readers should know about its numbers.
    pub fn stated_remarks(&self) -> impl Iterator<Item = String> {
        let meanings = self.notes.iter().map(|note| NoteMeaning::of(note));
        meanings.filter_map(|meaning| match meaning {
            NoteMeaning::Remark(remark) => Some(remark),
            _ => None,
        })
    }

    /// Adds something that readers should know about the numbers.
    pub(crate) fn remark(&mut self, remark: String) {
        if let Some(note) = Note::of_meaning(NoteMeaning::Remark(remark)) {
            self.notes.push(note.text.into_owned());
        }
    }

    /// Returns the sum of a metric over all samples.
    #[must_use]
    pub fn total(&self, metric: Metric) -> u64 {
        self.samples(metric)
            .fold(0, |sum: u64, sample| sum.saturating_add(sample.value))
    }

    /// Returns the frame with this id.
    #[must_use]
    pub fn frame(&self, frame: FrameId) -> &Frame {
        &self.frames[frame.0 as usize]
    }

    /// Iterates over all frames, in the order of their ids.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.frames.iter()
    }

    /// Returns the ids of all frames, in their order.
    pub fn frame_ids(&self) -> impl Iterator<Item = FrameId> + use<> {
        (0..number(self.frames.len())).map(FrameId)
    }

    /// Returns the id of a frame, adding it if it is new.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(number(self.frames.insert_full(frame).0))
    }

    /// Returns the id of a frame that is no method.
    pub(crate) fn marker(&mut self, name: &str) -> FrameId {
        let frame = Frame {
            class: self.names.intern(""),
            method: self.names.intern(name),
            signature: None,
            source: None,
            line: None,
            kind: FrameKind::Marker,
        };
        self.intern_frame(frame)
    }

    /// Returns the labels with this id.
    #[must_use]
    pub fn labels(&self, labels: LabelsId) -> &Labels {
        &self.labels[labels.0 as usize]
    }

    /// Iterates over all sets of labels, in the order of their ids.
    pub fn label_sets(&self) -> impl ExactSizeIterator<Item = &Labels> {
        self.labels.iter()
    }

    /// Returns the ids of all sets of labels, in their order.
    pub fn label_ids(&self) -> impl Iterator<Item = LabelsId> + use<> {
        (0..number(self.labels.len())).map(LabelsId)
    }

    /// Returns the id of a set of labels, adding it if it is new.
    pub fn intern_labels(&mut self, labels: Labels) -> LabelsId {
        LabelsId(number(self.labels.insert_full(labels).0))
    }

    /// Returns `Class.method` of a frame; only the name for a marker.
    #[must_use]
    pub fn method(&self, frame: FrameId) -> String {
        let frame = self.frame(frame);
        let method = self.names.text(frame.method);
        match frame.kind {
            FrameKind::Marker => method.to_owned(),
            _ => format!("{}.{method}", self.names.text(frame.class)),
        }
    }

    /// Returns the thread's name.
    #[must_use]
    pub fn thread(&self, labels: LabelsId) -> Option<&str> {
        let name = self.labels(labels).thread?;
        Some(self.names.text(name))
    }
}
