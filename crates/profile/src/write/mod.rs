//! Writes a profile as an HPROF file.

mod lifetimes;
mod native;
mod rows;
mod samples;
mod times;
mod waits;

use std::io::{self, Write};

use hprof_format::{
    AllocSite, AllocSitesRecord, BasicType, BinaryEncoder, CONTROL_ALLOC_TRACES,
    CONTROL_CPU_SAMPLING, CallTime, ClassSerial, ControlSettingsRecord, Encoder,
    FrameId as FormatFrameId, FrameRecord, Line, LoadClassRecord, Micros, Millis, Note,
    NoteMeaning, ObjectId, OldProfEncoder, Origin, Record, Section, StartThreadRecord, StringId,
    StringRecord, TextEncoder, ThreadSerial, Timing, TraceRecord, TraceSerial, TraceTime,
};

use crate::dense::Map;
use crate::metric::Metric;
use crate::model::{FrameId, FrameKind, Labels, LabelsId, Profile, StackId, Table};
use crate::names::Name;
use crate::number::number;
use crate::records::SITES;
use rows::{MOST_ADDED, added, split};

const FIRST_CLASS: u32 = 100_001;
const FIRST_THREAD: u32 = 200_001;
const SYSTEM_TRACE: TraceSerial = TraceSerial(300_000);
const FIRST_TRACE: u32 = 300_001;
const FIRST_FRAME: u64 = 500_000;
/// The number of bytes that are collected before they are written.
const CHUNK: usize = 64 * 1024;

/// The forms of an HPROF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `format=b`: all but call times.
    Binary,
    /// `format=a`: call times too.
    Text,
    /// `cpu=old`, which can hold nothing else.
    OldProf,
}

impl Form {
    /// Returns the form that can hold all of a profile, preferring binary.
    ///
    /// # Errors
    /// [`WriteError::Mixed`] and [`WriteError::TooLarge`].
    pub fn for_profile(profile: &Profile) -> Result<Form, WriteError> {
        let form = Form::for_metrics(profile).ok_or(WriteError::Mixed)?;
        match added(profile, form) {
            ..=MOST_ADDED => Ok(form),
            rows => Err(WriteError::TooLarge(rows)),
        }
    }

    fn for_metrics(profile: &Profile) -> Option<Form> {
        let metrics = profile.metrics();
        let has = |metric| metrics.contains(&metric);
        if has(Metric::InclusiveTime) {
            let others = metrics
                .iter()
                .filter(|&&m| !matches!(m, Metric::InclusiveTime | Metric::Calls));
            return (others.count() == 0 && !has(Metric::Time)).then_some(Form::OldProf);
        }
        Some(match has(Metric::Time) {
            true => Form::Text,
            false => Form::Binary,
        })
    }
}

/// The reason a profile cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The destination failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No form of HPROF file can hold all of its metrics.
    #[error("calls by caller and callee (cpu=old) cannot be in one file with other values")]
    Mixed,
    /// Its counts are so large that no run can have led to them.
    #[error(
        "its values are too large for the binary format: they need {0} rows in addition to those of the stacks, of at most {MOST_ADDED}"
    )]
    TooLarge(u64),
}

/// Writes a profile as an HPROF file, in a form that can hold all of it. Labels other than thread and class are stored
/// in notes, which [`crate::load`] reads. Counts that do not fit the binary format's fields become several rows.
///
/// # Errors
/// [`WriteError`].
pub fn write(profile: &Profile, out: impl Write) -> Result<Form, WriteError> {
    let form = Form::for_profile(profile)?;
    let encoder: Box<dyn Encoder> = match form {
        Form::Binary => Box::new(BinaryEncoder::new()),
        Form::Text => Box::new(TextEncoder::new()),
        Form::OldProf => Box::new(OldProfEncoder::new()),
    };
    let mut writer = Writer {
        profile,
        form,
        encoder,
        buffer: Vec::new(),
        out,
        strings: Map::default(),
        notes: 0,
        classes: Map::default(),
        threads: Map::default(),
        traces: Map::default(),
    };
    writer.file()?;
    Ok(form)
}

struct Writer<'a, W> {
    profile: &'a Profile,
    form: Form,
    encoder: Box<dyn Encoder>,
    buffer: Vec<u8>,
    out: W,
    strings: Map<String, StringId>,
    /// The number of notes written.
    notes: u32,
    classes: Map<Name, ClassSerial>,
    threads: Map<Name, ThreadSerial>,
    traces: Map<(StackId, Labels), TraceSerial>,
}

impl<W: Write> Writer<'_, W> {
    fn file(&mut self) -> io::Result<()> {
        let profile = self.profile;
        self.encoder
            .start(Millis(profile.created), &mut self.buffer);
        self.settings()?;
        self.record(&Record::Trace(TraceRecord {
            serial: SYSTEM_TRACE,
            thread: ThreadSerial(0),
            frames: Vec::new().into(),
        }))?;
        // Rows that were omitted in the file are rows here.
        let is_kept = |note: &&String| !NoteMeaning::of(note).is_of_left_out_rows();
        for note in profile.notes.iter().filter(is_kept) {
            self.note(note)?;
        }
        if let Some(errors) = profile.errors {
            self.meaning(NoteMeaning::StandardErrors(errors))?;
        }
        if profile.depths.len() > 1 || self.form != Form::Binary && !profile.depths.is_empty() {
            self.meaning(NoteMeaning::Depths(profile.depths.clone()))?;
        }
        if let Some(interval) = profile.interval().filter(|_| profile.has(Metric::Cpu)) {
            self.meaning(NoteMeaning::Interval(interval))?;
        }
        for frame in profile.frame_ids() {
            self.frame(frame)?;
        }
        for labels in profile.label_sets() {
            if let Some(thread) = labels.thread {
                self.thread(thread)?;
            }
        }
        for table in profile.tables() {
            if !table.metrics().contains(&Metric::InclusiveTime) {
                self.traces(table)?;
            }
            let Some(first) = table.metrics().first() else {
                continue;
            };
            match first {
                Metric::LiveBytes
                | Metric::LiveObjects
                | Metric::AllocBytes
                | Metric::AllocObjects => self.sites(table)?,
                Metric::TemporaryBytes => self.lifetimes(table)?,
                Metric::Cpu => self.cpu_samples(table)?,
                Metric::Wall => self.wall_samples(table)?,
                Metric::LockWait => self.lock_waits(table)?,
                Metric::NativeLiveBytes => self.native_sites(table)?,
                Metric::Time => self.cpu_times(table)?,
                Metric::Contention => self.monitors(table)?,
                Metric::InclusiveTime => self.old_prof(table)?,
                // Never the first: each is in a table with one of those above.
                Metric::Blocked
                | Metric::Parked
                | Metric::Pinned
                | Metric::Calls
                | Metric::TemporaryObjects
                | Metric::SurvivedBytes
                | Metric::SurvivedObjects
                | Metric::PeakBytes
                | Metric::PeakObjects
                | Metric::Contentions
                | Metric::NativeLiveBlocks
                | Metric::NativeOldBytes
                | Metric::NativeOldBlocks
                | Metric::NativeBytes
                | Metric::NativeBlocks => {}
            }
            self.times(*first)?;
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }

    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.encoder.record(Micros(0), record, &mut self.buffer);
        if self.buffer.len() >= CHUNK {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn settings(&mut self) -> io::Result<()> {
        let metrics = self.profile.metrics();
        let flag = |metric, flag| if metrics.contains(&metric) { flag } else { 0 };
        let flags =
            flag(Metric::LiveBytes, CONTROL_ALLOC_TRACES) | flag(Metric::Cpu, CONTROL_CPU_SAMPLING);
        let depth = match self.profile.depths.last() {
            Some(&depth) => depth as usize,
            // No stack was cut, as far as the file says it.
            None => self.longest() + 1,
        };
        let depth = depth.try_into().unwrap_or(u16::MAX);
        self.record(&Record::ControlSettings(ControlSettingsRecord {
            flags,
            depth,
        }))
    }

    fn longest(&self) -> usize {
        let used = self.profile.tables().iter().flat_map(Table::rows);
        let lengths = used.map(|(stack, ..)| self.profile.stacks.frames(stack).len());
        lengths.max().unwrap_or(0)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        let id = StringId::note(self.notes);
        self.notes = self.notes.saturating_add(1);
        self.record(&Record::String(StringRecord {
            id,
            text: text.as_bytes().into(),
        }))
    }

    fn meaning(&mut self, meaning: NoteMeaning) -> io::Result<()> {
        let note = Note::of_meaning(meaning);
        note.map_or(Ok(()), |note| self.note(&note.text))
    }

    fn section(&mut self, section: &Section<'_>) -> io::Result<()> {
        section.note().map_or(Ok(()), |note| self.note(&note))
    }

    /// Returns the id of a text; even the empty one has an id, because some readers look up every name.
    fn string(&mut self, text: &str) -> io::Result<StringId> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        let id = StringId(self.strings.len() as u64 + 1);
        self.strings.insert(text.to_owned(), id);
        self.record(&Record::String(StringRecord {
            id,
            text: text.as_bytes().into(),
        }))?;
        Ok(id)
    }

    fn optional(&mut self, name: Option<Name>) -> io::Result<StringId> {
        match name {
            Some(name) => self.string(self.profile.names.text(name)),
            None => self.string(""),
        }
    }

    fn class(&mut self, class: Name) -> io::Result<ClassSerial> {
        if let Some(&serial) = self.classes.get(&class) {
            return Ok(serial);
        }
        let source = self.profile.names.text(class);
        let name = match self.form {
            Form::Binary => self.string(&class_file_name(source))?,
            Form::Text | Form::OldProf => self.string(source)?,
        };
        let serial = ClassSerial(FIRST_CLASS + number(self.classes.len()));
        self.classes.insert(class, serial);
        self.record(&Record::LoadClass(LoadClassRecord {
            serial,
            // Readers require different objects for different classes.
            class_object: ObjectId(serial.0.into()),
            trace: SYSTEM_TRACE,
            name,
        }))?;
        Ok(serial)
    }

    fn frame(&mut self, id: FrameId) -> io::Result<()> {
        let frame = *self.profile.frame(id);
        let record = Record::Frame(FrameRecord {
            id: frame_id(id),
            class: self.class(frame.class)?,
            method: self.optional(Some(frame.method))?,
            signature: self.optional(frame.signature)?,
            source_file: self.optional(frame.source)?,
            line: match (frame.line, frame.kind) {
                (Some(line), _) => Line::Number(line),
                (None, FrameKind::Native) => Line::Native,
                (None, FrameKind::Compiled) => Line::Compiled,
                (None, _) => Line::Unknown,
            },
        });
        self.record(&record)
    }

    fn thread(&mut self, name: Name) -> io::Result<()> {
        if self.threads.contains_key(&name) {
            return Ok(());
        }
        let serial = ThreadSerial(FIRST_THREAD + number(self.threads.len()));
        self.threads.insert(name, serial);
        let name = self.optional(Some(name))?;
        self.record(&Record::StartThread(StartThreadRecord {
            serial,
            object: ObjectId(serial.0.into()),
            trace: SYSTEM_TRACE,
            name,
            group: StringId(0),
            parent_group: StringId(0),
        }))
    }

    /// Writes the traces of a table, those of one machine and file together, after a note that names these.
    fn traces(&mut self, table: &Table) -> io::Result<()> {
        let profile = self.profile;
        let mut keys: Vec<(Labels, StackId)> = Vec::with_capacity(table.len());
        let metric = table.metrics().first();
        let timeline = metric.and_then(|&metric| profile.timeline(metric));
        let timed = timeline.map_or(&[][..], |timeline| &timeline.rows);
        let timed = timed.iter().map(|row| (row.stack, row.labels));
        let rows = table.rows().map(|(stack, labels, _)| (stack, labels));
        for (stack, labels) in rows.chain(timed) {
            let labels = profile.labels(labels);
            keys.push((trace_labels(labels), stack));
            keys.extend(labels.holder.map(|holder| (holder_labels(labels), holder)));
        }
        let origin = |labels: &Labels| (labels.host, labels.file);
        keys.sort_by_key(|(labels, _)| origin(labels));
        let mut last = (None, None);
        for (labels, stack) in keys {
            if origin(&labels) != last {
                last = origin(&labels);
                self.meaning(NoteMeaning::Origin(self.origin(&labels)))?;
            }
            self.trace(stack, labels)?;
        }
        if last != (None, None) {
            self.meaning(NoteMeaning::Origin(Origin::default()))?;
        }
        Ok(())
    }

    fn trace(&mut self, stack: StackId, labels: Labels) -> io::Result<()> {
        if self.traces.contains_key(&(stack, labels)) {
            return Ok(());
        }
        let serial = TraceSerial(FIRST_TRACE + number(self.traces.len()));
        self.traces.insert((stack, labels), serial);
        let thread = labels.thread.and_then(|thread| self.threads.get(&thread));
        let frames = self.profile.stacks.frames(stack).iter();
        let frames: Vec<FormatFrameId> = frames.map(|&frame| frame_id(frame)).collect();
        self.record(&Record::Trace(TraceRecord {
            serial,
            thread: thread.copied().unwrap_or_default(),
            frames: frames.into(),
        }))
    }

    fn trace_serial(&self, stack: StackId, labels: LabelsId) -> TraceSerial {
        let labels = trace_labels(self.profile.labels(labels));
        let trace = self.traces.get(&(stack, labels));
        trace.copied().unwrap_or(SYSTEM_TRACE)
    }

    fn origin(&self, labels: &Labels) -> Origin {
        let text = |name| self.profile.names.text(name).to_owned();
        Origin {
            host: labels.host.map(text),
            file: labels.file.map(text),
        }
    }

    fn sites(&mut self, table: &Table) -> io::Result<()> {
        let mut sites = Vec::with_capacity(table.len());
        let mut totals = [0_u64; 4];
        // A recording of another profiler has bytes alone.
        let places = SITES.map(|metric| table.metrics().iter().position(|&of| of == metric));
        for (stack, labels, row) in table.rows() {
            let values = &places.map(|place| place.map_or(0, |place| row[place]));
            for (total, &value) in totals.iter_mut().zip(values) {
                *total = total.saturating_add(value);
            }
            let class = self.profile.labels(labels).class;
            let (class, array_of) = match class {
                Some(class) => {
                    let array_of = array_of(self.profile.names.text(class));
                    (self.class(class)?, array_of)
                }
                None => (ClassSerial(0), None),
            };
            let trace = self.trace_serial(stack, labels);
            self.fitting(values, |values| {
                sites.push(AllocSite {
                    array_of,
                    class,
                    trace,
                    live_bytes: values[0],
                    live_instances: values[1],
                    allocated_bytes: values[2],
                    allocated_instances: values[3],
                });
            });
        }
        self.record(&Record::AllocSites(AllocSitesRecord {
            flags: 0,
            cutoff: 0.0,
            live_bytes: totals[0],
            live_instances: totals[1],
            allocated_bytes: totals[2],
            allocated_instances: totals[3],
            sites: sites.into(),
        }))
    }

    fn cpu_times(&mut self, table: &Table) -> io::Result<()> {
        let rows = table.rows().map(|(stack, labels, values)| TraceTime {
            own: values[0],
            calls: values[1],
            trace: self.trace_serial(stack, labels),
        });
        let rows: Vec<TraceTime> = rows.collect();
        let sum = |value: fn(&TraceTime) -> u64| {
            let values = rows.iter().map(value);
            values.fold(0, u64::saturating_add)
        };
        let (total, calls) = (sum(|row| row.own), sum(|row| row.calls));
        let rows = rows.into();
        self.timing(&Timing::Traces { total, calls, rows })
    }

    fn old_prof(&mut self, table: &Table) -> io::Result<()> {
        let calls = table.rows().filter_map(|(stack, _, values)| {
            let mut frames = self.profile.stacks.frames(stack).iter();
            Some(CallTime {
                calls: values[1],
                callee: frame_id(*frames.next()?),
                caller: frames.next().map(|&frame| frame_id(frame)),
                total: values[0],
            })
        });
        let calls = calls.collect::<Vec<_>>().into();
        self.timing(&Timing::Calls(calls))
    }

    fn timing(&mut self, timing: &Timing<'_>) -> io::Result<()> {
        self.encoder.timing(Micros(0), timing, &mut self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Calls `row` with the values, split into rows that the form has room for.
    fn fitting(&self, values: &[u64], row: impl FnMut(&[u64])) {
        match self.form {
            Form::Binary => split(values, row),
            Form::Text | Form::OldProf => std::iter::once(values).for_each(row),
        }
    }
}

/// Returns the labels that a trace identifies: not the class that was allocated.
fn trace_labels(labels: &Labels) -> Labels {
    Labels {
        class: None,
        lock: None,
        holder: None,
        ..*labels
    }
}

/// Returns the labels of the trace of a lock's holder, whose thread is not known.
fn holder_labels(labels: &Labels) -> Labels {
    Labels {
        host: labels.host,
        file: labels.file,
        ..Labels::default()
    }
}

fn frame_id(frame: FrameId) -> FormatFrameId {
    FormatFrameId(FIRST_FRAME + u64::from(frame.0))
}

const PRIMITIVES: [(&str, &str, BasicType); 8] = [
    ("boolean", "Z", BasicType::Boolean),
    ("char", "C", BasicType::Char),
    ("float", "F", BasicType::Float),
    ("double", "D", BasicType::Double),
    ("byte", "B", BasicType::Byte),
    ("short", "S", BasicType::Short),
    ("int", "I", BasicType::Int),
    ("long", "J", BasicType::Long),
];

fn array_of(class: &str) -> Option<BasicType> {
    let element = class.strip_suffix("[]")?;
    let primitive = PRIMITIVES.iter().find(|(name, ..)| *name == element);
    Some(primitive.map_or(BasicType::Object, |&(_, _, kind)| kind))
}

/// Converts a class's name to the form of HotSpot's own dumps, the opposite of [`hprof_format::source_name`].
pub(crate) fn class_file_name(source: &str) -> String {
    let element = source.trim_end_matches("[]");
    let dimensions = (source.len() - element.len()) / 2;
    if dimensions == 0 {
        return source.replace('.', "/");
    }
    let brackets = "[".repeat(dimensions);
    match PRIMITIVES.iter().find(|(name, ..)| *name == element) {
        Some((_, letter, _)) => brackets + letter,
        None => format!("{brackets}L{};", element.replace('.', "/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_to_class_files_and_back() {
        for (source, class_file) in [
            ("java.lang.String", "java/lang/String"),
            ("int[][]", "[[I"),
            ("Foo$Bar[]", "[LFoo$Bar;"),
            ("Main", "Main"),
            ("", ""),
        ] {
            assert_eq!(class_file_name(source), class_file);
            assert_eq!(hprof_format::source_name(class_file), source);
        }
    }
}
