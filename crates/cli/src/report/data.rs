//! Profiles in the form that the page reads.
//!
//! A length (u32, little-endian), a JSON text of that length that describes the columns ([`Header`]), then columns of
//! numbers: the lowest bytes of all numbers of a column, then the next ones; which compresses well. The first columns
//! are those of the frames (class, method, source + 1, line, kind), then the two of
//! [`Preorder`](super::stacks::Preorder), whose stacks all profiles share. Then come those of each table of each
//! profile: distance to the stack of the row before, thread + 1, type + 1, and one for each value. After the tables of a profile
//! come those of each of its timelines: distance to the stack of the row before, thread + 1, type + 1, the number of steps with
//! samples; and, for all rows one after another, distance to the step before, and value.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use foldhash::HashMap;
use hprof_profile::{
    By, CommonInterval, Frame, FrameKind, Groups, LabelsId, Metric, Profile, StackId, Table,
    Timeline, Wait,
};
use serde::Serialize;

use super::history::{self, History};
use super::stacks::{StacksByRoot, number};
use crate::about;
use crate::failure::Failure;

/// A profile and its name.
pub struct Run {
    /// Its file.
    pub file: String,
    /// Its content.
    pub profile: Profile,
    /// The reason the file was not read to its end.
    pub fault: Option<String>,
    /// For each metric, what is to be said about it.
    pub remarks: BTreeMap<&'static str, Vec<String>>,
}

impl Run {
    /// Returns runs in a form in which they can be compared on one page.
    pub fn comparable(mut runs: Vec<Run>) -> Result<Vec<Run>, Failure> {
        let mut common = CommonInterval::default();
        for run in &runs {
            let added = common.add(&run.profile);
            added.map_err(|error| Failure::about(Path::new(&run.file), error))?;
        }
        for run in &mut runs {
            if let Some(remark) = run.profile.count_samples_of(common) {
                let remarks = run.remarks.entry(Metric::Cpu.name()).or_default();
                remarks.push(remark);
            }
        }
        let comparable = runs.into_iter().map(|run| Run {
            profile: run.profile.comparable(),
            ..run
        });
        Ok(comparable.collect())
    }
}

/// The initial view of the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Start {
    /// `true` to show only the flame graph.
    pub flame_only: bool,
    /// The metric that is shown first.
    pub metric: Option<&'static str>,
    /// `true` if the innermost frames are the roots.
    pub inverted: bool,
    /// `true` if the first profile is the base of a comparison with the second.
    pub compared: bool,
}

#[derive(Serialize)]
struct Header {
    strings: Vec<String>,
    columns: Vec<Column>,
    runs: Vec<About>,
    start: Start,
}

/// The size of a column's numbers in bytes, and their count.
#[derive(Serialize)]
struct Column(u32, usize);

#[derive(Serialize)]
struct About {
    file: String,
    created: u64,
    section: u32,
    sections: u32,
    facts: Vec<(String, String)>,
    /// The run in one line.
    about: Option<String>,
    /// In seconds, that a CPU sample stands for.
    interval: Option<f64>,
    /// In seconds.
    length: f64,
    notes: Vec<String>,
    fault: Option<String>,
    remarks: BTreeMap<&'static str, Vec<String>>,
    tables: Vec<Vec<Measured>>,
    timelines: Vec<TimelineOfRun>,
    waits: Vec<WaitOfRun>,
    history: Option<History>,
}

/// The waiting thread or method, the lock, its holders, and the time in nanoseconds.
#[derive(Serialize)]
struct WaitOfRun(String, String, Vec<String>, u64);

/// When the samples of a value were taken, in milliseconds.
#[derive(Serialize)]
struct TimelineOfRun {
    value: &'static str,
    /// Since 1970.
    begin: u64,
    millis: u64,
    step: u64,
}

/// A value's name and unit.
#[derive(Serialize)]
struct Measured(&'static str, &'static str);

/// The largest number that the page represents exactly.
const LARGEST: u64 = 1 << 53;

/// Writes the profiles. With `by_thread`, the outermost frame of every stack is the thread.
pub fn write(runs: &[Run], by_thread: bool, start: Start, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = PageWriter::default();
    let places: Vec<RowKeys> = runs
        .iter()
        .map(|run| writer.row_keys(&run.profile, by_thread))
        .collect();
    let order = writer.stacks.preorder();
    writer.frame_columns();
    writer.column(&order.fewer);
    writer.column(&order.frames);
    let mut abouts = Vec::with_capacity(runs.len());
    for (run, places) in runs.iter().zip(places) {
        let [ages, sites] = [places.of_ages, places.of_sites].map(|mut keys| {
            for [stack, ..] in &mut keys {
                *stack = order.numbers[*stack as usize];
            }
            keys
        });
        abouts.push(about(run, history::of(&run.profile, &ages, &sites)));
        for (table, places) in run.profile.tables().iter().zip(places.of_tables) {
            writer.table(table, places, &order.numbers);
        }
        for (timeline, places) in run.profile.timelines().iter().zip(places.of_timelines) {
            writer.timeline(timeline, places, &order.numbers);
        }
    }
    let header = Header {
        strings: writer.strings,
        columns: writer.columns,
        runs: abouts,
        start,
    };
    let header = serde_json::to_vec(&header)?;
    let length = u32::try_from(header.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&header)?;
    out.write_all(&writer.bytes)
}

fn about(run: &Run, history: Option<History>) -> About {
    let measured = |metric: &Metric| Measured(metric.name(), metric.unit().name());
    let tables = run.profile.tables().iter();
    About {
        file: run.file.clone(),
        created: run.profile.created,
        section: run.profile.section,
        sections: run.profile.sections,
        facts: run.profile.facts.clone(),
        about: about::profile(&run.profile),
        interval: run
            .profile
            .interval()
            .map(|interval| interval.as_secs_f64()),
        length: run.profile.length as f64 / 1e6,
        notes: run.profile.notes.clone(),
        fault: run.fault.clone(),
        remarks: run.remarks.clone(),
        tables: tables
            .map(|table| table.metrics().iter().map(measured).collect())
            .collect(),
        timelines: run.profile.timelines().iter().map(timeline).collect(),
        waits: run.profile.waits().into_iter().map(wait).collect(),
        history,
    }
}

fn timeline(timeline: &Timeline) -> TimelineOfRun {
    TimelineOfRun {
        value: timeline.metric.name(),
        begin: timeline.begin,
        millis: timeline.millis,
        step: timeline.step,
    }
}

fn wait(wait: Wait) -> WaitOfRun {
    WaitOfRun(wait.waiter, wait.lock, wait.holder, wait.nanos)
}

/// The rows of each table and timeline of a profile, of its ages, and the sites of its course: stack, thread + 1, type + 1.
struct RowKeys {
    of_tables: Vec<Vec<[u32; 3]>>,
    of_timelines: Vec<Vec<[u32; 3]>>,
    of_ages: Vec<[u32; 3]>,
    of_sites: Vec<[u32; 3]>,
}

/// Collects the data to write.
#[derive(Default)]
struct PageWriter {
    strings: Vec<String>,
    string_of: HashMap<String, u32>,
    frames: Vec<[u32; 5]>,
    frame_of: HashMap<[u32; 5], u32>,
    stacks: StacksByRoot,
    columns: Vec<Column>,
    bytes: Vec<u8>,
}

impl PageWriter {
    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.string_of.get(text) {
            return known;
        }
        let number = number(self.strings.len());
        self.strings.push(text.to_owned());
        self.string_of.insert(text.to_owned(), number);
        number
    }

    fn frame(&mut self, profile: &Profile, frame: &Frame) -> u32 {
        let text = |name| profile.names.text(name);
        let kind = match frame.kind {
            FrameKind::Java => 0,
            FrameKind::Compiled => 1,
            FrameKind::Native => 2,
            FrameKind::Marker => 3,
        };
        let frame = [
            self.string(text(frame.class)),
            self.string(text(frame.method)),
            frame
                .source
                .map_or(0, |source| self.string(text(source)) + 1),
            frame.line.unwrap_or(0),
            kind,
        ];
        self.intern(frame)
    }

    fn marker(&mut self, name: &str) -> u32 {
        let frame = [self.string(""), self.string(name), 0, 0, 3];
        self.intern(frame)
    }

    fn intern(&mut self, frame: [u32; 5]) -> u32 {
        let next = number(self.frames.len());
        let number = *self.frame_of.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }

    fn row_keys(&mut self, profile: &Profile, by_thread: bool) -> RowKeys {
        let frames: Vec<u32> = profile.frames().map(|f| self.frame(profile, f)).collect();
        let thread_frames: Vec<u32> = match by_thread {
            true => self.thread_frames(profile),
            false => Vec::new(),
        };
        let labels: Vec<[u32; 2]> = profile
            .label_sets()
            .map(|labels| {
                [labels.thread, labels.class]
                    .map(|name| name.map_or(0, |name| self.string(profile.names.text(name)) + 1))
            })
            .collect();
        let mut known: HashMap<(StackId, Option<u32>), u32> = HashMap::default();
        let mut place = |stack: StackId, label: LabelsId| {
            let thread_frame = thread_frames.get(label.0 as usize).copied();
            let place = *known.entry((stack, thread_frame)).or_insert_with(|| {
                let of_stack = profile.stacks.frames(stack);
                let inner = of_stack.iter().rev().map(|frame| frames[frame.0 as usize]);
                self.stacks.push(thread_frame.into_iter().chain(inner))
            });
            let [thread, class] = labels[label.0 as usize];
            [place, thread, class]
        };
        let mut of_tables = Vec::new();
        for table in profile.tables() {
            let rows = table.rows();
            of_tables.push(rows.map(|(stack, label, _)| place(stack, label)).collect());
        }
        let mut of_timelines = Vec::new();
        for timeline in profile.timelines() {
            let rows = timeline.rows.iter();
            of_timelines.push(rows.map(|row| place(row.stack, row.labels)).collect());
        }
        let history = &profile.history;
        let sites = history.course.iter().flat_map(|course| &course.sites);
        RowKeys {
            of_tables,
            of_timelines,
            of_ages: history
                .ages
                .iter()
                .map(|age| place(age.stack, age.labels))
                .collect(),
            of_sites: sites.map(|site| place(site.stack, site.labels)).collect(),
        }
    }

    /// Adds a frame for the thread of each set of labels.
    fn thread_frames(&mut self, profile: &Profile) -> Vec<u32> {
        let threads = Groups::of_labels(profile, By::Thread);
        let frames: Vec<u32> = threads.names.iter().map(|name| self.marker(name)).collect();
        let numbers = threads.of.iter();
        numbers.map(|&thread| frames[thread as usize]).collect()
    }

    fn frame_columns(&mut self) {
        for place in 0..5 {
            let column: Vec<u32> = self.frames.iter().map(|frame| frame[place]).collect();
            self.column(&column);
        }
    }

    /// Writes a table, merging rows of the same stack, thread and type.
    fn table(&mut self, table: &Table, places: Vec<[u32; 3]>, numbers: &[u32]) {
        let width = table.metrics().len();
        let mut rows: Vec<([u32; 3], &[u64])> = places
            .into_iter()
            .zip(table.rows())
            .map(|([stack, thread, class], (_, _, values))| {
                ([numbers[stack as usize], thread, class], values)
            })
            .collect();
        rows.sort_unstable();
        let mut keys: Vec<[u32; 3]> = Vec::with_capacity(rows.len());
        let mut values: Vec<Vec<u64>> = vec![Vec::with_capacity(rows.len()); width];
        for (key, row) in rows {
            let again = keys.last() == Some(&key);
            if !again {
                keys.push(key);
            }
            for (column, &value) in values.iter_mut().zip(row) {
                match column.last_mut() {
                    Some(sum) if again => *sum = sum.saturating_add(value),
                    _ => column.push(value),
                }
            }
        }
        let before = std::iter::once(0).chain(keys.iter().map(|key| key[0]));
        let distances = keys.iter().zip(before).map(|(key, before)| key[0] - before);
        self.column(&distances.collect::<Vec<u32>>());
        for label in [1, 2] {
            let column: Vec<u32> = keys.iter().map(|key| key[label]).collect();
            self.column(&column);
        }
        for column in values {
            self.column(&column);
        }
    }

    /// Writes a timeline.
    fn timeline(&mut self, timeline: &Timeline, places: Vec<[u32; 3]>, numbers: &[u32]) {
        let keys = places
            .into_iter()
            .map(|[stack, thread, class]| [numbers[stack as usize], thread, class]);
        let mut rows: Vec<_> = keys
            .zip(timeline.rows.iter().map(|row| &*row.values))
            .collect();
        rows.sort_unstable();
        let before = std::iter::once(0).chain(rows.iter().map(|(key, _)| key[0]));
        let distances = rows
            .iter()
            .zip(before)
            .map(|((key, _), before)| key[0] - before);
        self.column(&distances.collect::<Vec<u32>>());
        for label in [1, 2] {
            let column: Vec<u32> = rows.iter().map(|(key, _)| key[label]).collect();
            self.column(&column);
        }
        let counts: Vec<u32> = rows
            .iter()
            .map(|(_, values)| number(values.len()))
            .collect();
        self.column(&counts);
        let (mut steps, mut amounts) = (Vec::new(), Vec::new());
        for (_, values) in rows {
            let mut before = 0;
            for &(step, value) in values {
                steps.push(step - before);
                amounts.push(value);
                before = step;
            }
        }
        self.column(&steps);
        self.column(&amounts);
    }

    /// Adds a column, as narrow as its largest number allows.
    fn column<N: Copy + Into<u64>>(&mut self, column: &[N]) {
        let numbers = || column.iter().map(|&number| number.into().min(LARGEST));
        let largest = numbers().max().unwrap_or(0);
        let width = (u64::BITS - largest.leading_zeros()).div_ceil(8).max(1);
        self.columns.push(Column(width, column.len()));
        for place in 0..width as usize {
            let bytes = numbers().map(|number| number.to_le_bytes()[place]);
            self.bytes.extend(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_every_value_in_its_order() {
        let script = include_str!("data.js");
        let (_, order) = script.split_once("const ORDER = [").expect("the list");
        let (order, _) = order.split_once(']').expect("its end");
        let names: Vec<&str> = order.split('\'').skip(1).step_by(2).collect();
        assert_eq!(names, Metric::ALL.map(Metric::name));
    }
}
