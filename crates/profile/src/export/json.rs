//! The whole profile as JSON; `docs/reference/json.md` has the schema.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hprof_format::CoursePoint;
use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::nanos_of_one;
use crate::metric::Metric;
use crate::model::Timeline;
use crate::model::{Frame, History, Labels, LabelsId, Profile, StackId, Table};
use crate::names::Name;

/// Writes the whole profile: names, frames, stacks and labels once each, samples as indexes into them.
///
/// # Errors
/// Those of `out`.
pub fn json(profile: &Profile, out: impl Write) -> io::Result<()> {
    serde_json::to_writer(out, profile).map_err(io::Error::from)
}

#[derive(serde::Serialize)]
struct JsonDocument<'a> {
    format: &'static str,
    version: u32,
    created_ms: u64,
    section: u32,
    sections: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    /// The time from the beginning to the last record.
    length_us: u64,
    /// The CPU time that a sample stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    /// The program, the JDK and the options, by their labels.
    facts: BTreeMap<&'a str, &'a str>,
    unknown_sections: &'a [String],
    notes: &'a [String],
    names: StreamedRows<NameRows<'a>>,
    frames: StreamedRows<FrameRows<'a>>,
    stacks: StreamedRows<StackRows<'a>>,
    labels: StreamedRows<LabelRows<'a>>,
    tables: Vec<TableDocument<'a>>,
    timelines: Vec<TimelineDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<HistoryDocument>,
}

#[derive(serde::Serialize)]
struct TimelineDocument<'a> {
    value: &'static str,
    begin_ms: u64,
    length_ms: u64,
    step_ms: u64,
    rows: Vec<TimelineRowDocument<'a>>,
}

/// Stack, labels, and pairs of a step's number and the value in it.
#[derive(serde::Serialize)]
struct TimelineRowDocument<'a>(u32, u32, &'a [(u32, u64)]);

#[derive(serde::Serialize)]
struct HistoryDocument {
    peak: Option<PeakDocument>,
    ages: Vec<AgeRow>,
    course: Option<CourseDocument>,
}

#[derive(serde::Serialize)]
struct PeakDocument {
    collection: u32,
    time_ms: u64,
}

/// Stack, labels, age, bytes, objects.
#[derive(serde::Serialize)]
struct AgeRow(u32, u32, Option<String>, u64, u64);

#[derive(serde::Serialize)]
struct CourseDocument {
    collections: u32,
    time_ms: u64,
    step_ms: u64,
    site_step_ms: u64,
    all: Vec<PointRow>,
    sites: Vec<SiteDocument>,
}

#[derive(serde::Serialize)]
struct SiteDocument {
    stack: u32,
    labels: u32,
    points: Vec<PointRow>,
}

/// Milliseconds, collections, most live bytes, fewest live objects, allocated bytes, allocated objects.
#[derive(serde::Serialize)]
struct PointRow(u64, u32, u64, u64, u64, u64);

#[derive(serde::Serialize)]
struct TableDocument<'a> {
    values: Vec<ValueDocument>,
    samples: StreamedRows<SampleRows<'a>>,
}

#[derive(serde::Serialize)]
struct ValueDocument {
    name: &'static str,
    unit: &'static str,
}

/// Class, method, signature, source file, line, kind.
#[derive(serde::Serialize)]
struct FrameRow(
    u32,
    u32,
    Option<u32>,
    Option<u32>,
    Option<u32>,
    &'static str,
);

#[derive(serde::Serialize)]
struct LabelRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<u32>,
}

/// Rows that are written while they are created.
struct StreamedRows<F>(F);

trait RowSource {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error>;
}

impl<F: RowSource> Serialize for StreamedRows<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        self.0.write(&mut rows)?;
        rows.end()
    }
}

struct NameRows<'a>(&'a Profile);

impl RowSource for NameRows<'_> {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        self.0
            .names
            .iter()
            .try_for_each(|name| rows.serialize_element(name))
    }
}

struct FrameRows<'a>(&'a Profile);

impl RowSource for FrameRows<'_> {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        self.0
            .frames()
            .try_for_each(|frame| rows.serialize_element(&frame_row(frame)))
    }
}

struct StackRows<'a>(&'a Profile);

impl RowSource for StackRows<'_> {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        let stacks = &self.0.stacks;
        stacks.ids().try_for_each(|stack| {
            let frames = stacks.frames(stack).iter();
            rows.serialize_element(&frames.map(|frame| frame.0).collect::<Vec<_>>())
        })
    }
}

struct LabelRows<'a>(&'a Profile);

impl RowSource for LabelRows<'_> {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        self.0
            .label_sets()
            .try_for_each(|labels| rows.serialize_element(&label_row(labels)))
    }
}

struct SampleRows<'a>(&'a Table);

impl RowSource for SampleRows<'_> {
    fn write<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        self.0
            .rows()
            .try_for_each(|(StackId(stack), LabelsId(labels), values)| {
                rows.serialize_element(&(stack, labels, values))
            })
    }
}

fn frame_row(frame: &Frame) -> FrameRow {
    let index = |name: Name| name.0;
    FrameRow(
        frame.class.0,
        frame.method.0,
        frame.signature.map(index),
        frame.source.map(index),
        frame.line,
        frame.kind.name(),
    )
}

fn label_row(labels: &Labels) -> LabelRow {
    let index = |name: Option<Name>| name.map(|name| name.0);
    LabelRow {
        thread: index(labels.thread),
        class: index(labels.class),
        lock: index(labels.lock),
        holder: labels.holder.map(|holder| holder.0),
        host: index(labels.host),
        file: index(labels.file),
    }
}

fn table_document(table: &Table) -> TableDocument<'_> {
    let values = table.metrics().iter().map(|metric| ValueDocument {
        name: metric.name(),
        unit: metric.unit().name(),
    });
    TableDocument {
        values: values.collect(),
        samples: StreamedRows(SampleRows(table)),
    }
}

fn points(points: &[CoursePoint]) -> Vec<PointRow> {
    let points = points.iter().map(|point| {
        PointRow(
            point.millis,
            point.collections,
            point.most_bytes,
            point.fewest_objects,
            point.allocated_bytes,
            point.allocated_objects,
        )
    });
    points.collect()
}

/// Returns what the profile says about time; `None` if it says nothing.
fn timeline_document(timeline: &Timeline) -> TimelineDocument<'_> {
    let rows = timeline.rows.iter();
    TimelineDocument {
        value: timeline.metric.name(),
        begin_ms: timeline.begin,
        length_ms: timeline.millis,
        step_ms: timeline.step,
        rows: rows
            .map(|row| TimelineRowDocument(row.stack.0, row.labels.0, &row.values))
            .collect(),
    }
}

fn history_document(history: &History) -> Option<HistoryDocument> {
    let is_known = history.peak.is_some() || !history.ages.is_empty() || history.course.is_some();
    is_known.then(|| HistoryDocument {
        peak: history.peak.map(|peak| PeakDocument {
            collection: peak.collection,
            time_ms: peak.millis,
        }),
        ages: history
            .ages
            .iter()
            .map(|row| {
                let (stack, labels) = (row.stack.0, row.labels.0);
                let age = row.age.map(|age| age.to_string());
                AgeRow(stack, labels, age, row.bytes, row.objects)
            })
            .collect(),
        course: history.course.as_ref().map(|course| CourseDocument {
            collections: course.collections,
            time_ms: course.millis,
            step_ms: course.step,
            site_step_ms: course.site_step,
            all: points(&course.all),
            sites: course
                .sites
                .iter()
                .map(|site| SiteDocument {
                    stack: site.stack.0,
                    labels: site.labels.0,
                    points: points(&site.points),
                })
                .collect(),
        }),
    })
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = JsonDocument {
            format: "hprof-profile",
            version: 1,
            created_ms: self.period().0,
            section: self.section,
            sections: self.sections,
            process: self.process,
            length_us: self.period().1,
            interval_ns: match self.has(Metric::Cpu) {
                true => nanos_of_one(self, Metric::Cpu),
                false => None,
            },
            facts: self
                .facts
                .iter()
                .map(|(label, value)| (&**label, &**value))
                .collect(),
            unknown_sections: &self.unknown_sections,
            notes: &self.notes,
            names: StreamedRows(NameRows(self)),
            frames: StreamedRows(FrameRows(self)),
            stacks: StreamedRows(StackRows(self)),
            labels: StreamedRows(LabelRows(self)),
            tables: self.tables().iter().map(table_document).collect(),
            timelines: self.timelines().iter().map(timeline_document).collect(),
            history: history_document(&self.history),
        };
        document.serialize(serializer)
    }
}
