//! The model: frames, stacks, and tables of samples.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::{Metric, Name, Names};

/// A frame of one [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A stack of one [`Profile`]. Two ids may name equal stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// A set of labels of one [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelsId(pub u32);

/// How a frame's code ran, as far as the file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A Java method.
    Java,
    /// A Java method of which only is known that it was compiled.
    Compiled,
    /// A native method.
    Native,
    /// No method: stands for what the file has no stack of.
    Marker,
}

/// A place in a method.
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
    /// The line, 1 and up.
    pub line: Option<u32>,
    /// How it ran.
    pub kind: FrameKind,
}

/// What is known of a sample beyond its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    /// The thread's name.
    pub thread: Option<Name>,
    /// The class that was allocated, or whose monitor was wanted, as in Java source.
    pub class: Option<Name>,
    /// The machine.
    pub host: Option<Name>,
    /// The file that it was read from, where several were.
    pub file: Option<Name>,
}

/// All stacks, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<FrameId>,
    ends: Vec<usize>,
}

impl Stacks {
    /// Adds a stack, innermost frame first.
    pub fn push(&mut self, frames: impl IntoIterator<Item = FrameId>) -> StackId {
        self.frames.extend(frames);
        self.ends.push(self.frames.len());
        StackId(self.ends.len() as u32 - 1)
    }

    /// The frames of a stack, innermost first.
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

    /// Puts other frames in the places of those that are there.
    pub(crate) fn rename(&mut self, other: impl Fn(FrameId) -> FrameId) {
        for frame in &mut self.frames {
            *frame = other(*frame);
        }
    }

    /// How many stacks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Samples that were measured together: each has a value of each of the table's metrics.
#[derive(Clone, Debug, Default)]
pub struct Table {
    metrics: Vec<Metric>,
    stacks: Vec<StackId>,
    labels: Vec<LabelsId>,
    /// The values of one sample after those of the other.
    values: Vec<u64>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(metrics: &[Metric]) -> Table {
        Table {
            metrics: metrics.to_vec(),
            ..Table::default()
        }
    }

    /// What is measured here.
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

    /// Every sample with all its values.
    pub fn rows(&self) -> impl Iterator<Item = (StackId, LabelsId, &[u64])> {
        let values = self.values.chunks_exact(self.metrics.len().max(1));
        let keys = self.stacks.iter().zip(&self.labels);
        keys.zip(values)
            .map(|((&stack, &labels), values)| (stack, labels, values))
    }

    /// Puts other labels in the places of those that are there.
    pub(crate) fn relabel(&mut self, other: impl Fn(LabelsId) -> LabelsId) {
        for labels in &mut self.labels {
            *labels = other(*labels);
        }
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }
}

/// One value of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where.
    pub stack: StackId,
    /// What else is known.
    pub labels: LabelsId,
    /// How much, in the metric's unit.
    pub value: u64,
}

/// One dump of one run, or the sum of several.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Every text.
    pub names: Names,
    pub(crate) frames: IndexSet<Frame, RandomState>,
    /// Every stack.
    pub stacks: Stacks,
    pub(crate) labels: IndexSet<Labels, RandomState>,
    pub(crate) tables: Vec<Table>,
    /// When the run began, in milliseconds since 1970; 0 where it is not known.
    pub created: u64,
    /// How long after that the file's last words are, in microseconds; 0 where it is not known.
    pub length: u64,
    /// The process's number, where the file tells it.
    pub process: Option<u32>,
    /// What the file says of itself in words.
    pub notes: Vec<String>,
    /// Which dump of the run this is, from 1 on.
    pub section: u32,
    /// How many dumps the file has.
    pub sections: u32,
}

impl Profile {
    /// The tables.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of these metrics, which is made where it is not there.
    pub(crate) fn table(&mut self, metrics: &[Metric]) -> &mut Table {
        let found = self.tables.iter().position(|t| t.metrics == metrics);
        let index = found.unwrap_or_else(|| {
            self.tables.push(Table::new(metrics));
            self.tables.len() - 1
        });
        &mut self.tables[index]
    }

    /// Every metric that the profile has, the most wanted first.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let all = self.tables.iter().flat_map(|table| &table.metrics);
        let mut metrics: Vec<Metric> = all.copied().collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    /// The samples of one metric; none where the profile does not have it. Values may be 0.
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

    /// The sum of a metric over all samples.
    #[must_use]
    pub fn total(&self, metric: Metric) -> u64 {
        self.samples(metric)
            .fold(0, |sum: u64, sample| sum.saturating_add(sample.value))
    }

    /// A frame.
    #[must_use]
    pub fn frame(&self, frame: FrameId) -> &Frame {
        &self.frames[frame.0 as usize]
    }

    /// Every frame, in the order of their ids.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.frames.iter()
    }

    /// The id of a frame, which is kept.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.insert_full(frame).0 as u32)
    }

    /// The labels of an id.
    #[must_use]
    pub fn labels(&self, labels: LabelsId) -> &Labels {
        &self.labels[labels.0 as usize]
    }

    /// Every set of labels, in the order of their ids.
    pub fn label_sets(&self) -> impl ExactSizeIterator<Item = &Labels> {
        self.labels.iter()
    }

    /// The id of a set of labels, which is kept.
    pub fn intern_labels(&mut self, labels: Labels) -> LabelsId {
        LabelsId(self.labels.insert_full(labels).0 as u32)
    }

    /// `Class.method` of a frame; a marker's name alone.
    #[must_use]
    pub fn method(&self, frame: FrameId) -> String {
        let frame = self.frame(frame);
        let method = self.names.text(frame.method);
        match frame.kind {
            FrameKind::Marker => method.to_owned(),
            _ => format!("{}.{method}", self.names.text(frame.class)),
        }
    }

    /// The thread's name.
    #[must_use]
    pub fn thread(&self, labels: LabelsId) -> Option<&str> {
        let name = self.labels(labels).thread?;
        Some(self.names.text(name))
    }
}
