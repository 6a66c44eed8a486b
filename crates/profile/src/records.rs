//! Builds a profile from records.

use foldhash::fast::RandomState;
use std::collections::HashMap;

use hprof_format::{
    AllocSite, AllocSitesRecord, CallTime, ClassSerial, ContendedTime, CpuSample, CpuSamplesRecord,
    FrameId as FormatFrameId, FrameRecord, LeftOut, Line, LoadClassRecord, MonitorRecord,
    NameTable, Record, StartThreadRecord, StringId, StringRecord, ThreadSerial, Timing,
    TraceRecord, TraceSerial, TraceTime, UNKNOWN_NAME, source_name,
};

use crate::metric::Metric;
use crate::model::{Frame, FrameId, FrameKind, Labels, LabelsId, Profile, StackId};
use crate::names::Name;
use crate::origin::Origin;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The dump of a run to load: each request (SIGQUIT, `hprof dump`) and the end of the run write one. A dump has at most
/// one section of each kind of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The last one.
    #[default]
    Last,
    /// This one, from 1.
    Number(u32),
}

/// The frame of costs that are in the file's totals but in no row.
const NOT_LISTED: &str = "<not listed>";

const SITES: [Metric; 4] = [
    Metric::LiveBytes,
    Metric::LiveObjects,
    Metric::AllocBytes,
    Metric::AllocObjects,
];
const CPU: [Metric; 1] = [Metric::Cpu];
const TIMES: [Metric; 2] = [Metric::Time, Metric::Calls];
const OLD_PROF: [Metric; 2] = [Metric::InclusiveTime, Metric::Calls];
const MONITORS: [Metric; 2] = [Metric::Contention, Metric::Contentions];

/// Builds a profile out of records, which come in the order of the file.
///
/// A record may name only what earlier records define; everything else is unknown.
#[derive(Default)]
pub struct Records {
    profile: Profile,
    wanted: Wanted,
    table: NameTable<Name>,
    threads: Map<ThreadSerial, Name>,
    frames: Dense<FrameId>,
    traces: Dense<Trace>,
    /// The number of records of the same metrics so far.
    seen: Map<&'static [Metric], u32>,
    host: Option<Name>,
    file: Option<Name>,
    /// The sum of the rows that the next sites omit.
    left_out: Option<LeftOut<4>>,
}

#[derive(Clone, Copy)]
struct Trace {
    stack: StackId,
    thread: ThreadSerial,
    host: Option<Name>,
    file: Option<Name>,
}

impl Records {
    /// Creates a builder for the wanted section of a file.
    #[must_use]
    pub fn new(wanted: Wanted) -> Records {
        Records {
            wanted,
            ..Records::default()
        }
    }

    /// Returns the profile read so far.
    #[must_use]
    pub fn finish(mut self) -> Profile {
        self.profile.section = match self.wanted {
            Wanted::Last => self.profile.sections,
            Wanted::Number(number) => number,
        };
        self.profile
    }

    /// Sets the time at which the run began, in milliseconds since 1970.
    pub fn created(&mut self, millis: u64) {
        self.profile.created = millis;
    }

    /// Notes that something was written `micros` microseconds after the beginning.
    pub fn reached(&mut self, micros: u64) {
        self.profile.length = self.profile.length.max(micros);
    }

    /// Sets the process id.
    pub fn process(&mut self, number: u32) {
        self.profile.process = Some(number);
    }

    /// Takes a record; those without costs are ignored.
    pub fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::String(StringRecord { id, ref text }) if id.is_note() => {
                self.note(&String::from_utf8_lossy(text))
            }
            Record::String(StringRecord { id, ref text }) => {
                let name = self.profile.names.intern(&String::from_utf8_lossy(text));
                self.table.define_string(id, name);
            }
            Record::LoadClass(LoadClassRecord { serial, name, .. }) => {
                let names = &mut self.profile.names;
                self.table.define_class(serial, name, |&name| {
                    let source = source_name(names.text(name)).into_owned();
                    names.intern(&source)
                });
            }
            Record::Frame(ref frame) => self.frame(frame),
            Record::Trace(ref trace) => self.trace(trace),
            Record::StartThread(StartThreadRecord { serial, name, .. }) => {
                let text = self.string(name);
                self.threads.insert(serial, text);
                self.table.forget_used(name);
            }
            Record::AllocSites(AllocSitesRecord {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                ref sites,
                ..
            }) => {
                let totals = [
                    live_bytes,
                    live_instances,
                    allocated_bytes,
                    allocated_instances,
                ];
                self.sites(totals, sites);
            }
            Record::CpuSamples(CpuSamplesRecord { total, ref rows }) => {
                self.cpu_samples(total.into(), rows)
            }
            _ => {}
        }
    }

    /// Takes a record about monitors.
    pub fn monitor(&mut self, record: &MonitorRecord<'_>) {
        if let MonitorRecord::Time { total, count, rows } = record {
            self.monitors([*total, *count], rows);
        }
    }

    /// Takes the result of timing methods.
    pub fn timing(&mut self, timing: &Timing<'_>) {
        match timing {
            Timing::Traces { total, calls, rows } => self.cpu_times([*total, *calls], rows),
            Timing::Calls(calls) => self.old_prof(calls),
        }
    }

    fn note(&mut self, text: &str) {
        self.left_out = LeftOut::of_sites(text).or(self.left_out);
        match Origin::of_note(text) {
            Some(origin) => {
                let mut intern = |name: &str| self.profile.names.intern(name);
                (self.host, self.file) = (origin.host.map(&mut intern), origin.file.map(intern));
            }
            None => self.profile.notes.push(text.to_owned()),
        }
    }

    fn string(&mut self, id: StringId) -> Name {
        let name = self.table.string(id).cloned();
        name.unwrap_or_else(|missing| self.profile.names.intern(missing))
    }

    fn class(&mut self, class: ClassSerial) -> Name {
        let name = self.table.class(class).cloned();
        name.unwrap_or_else(|missing| self.profile.names.intern(missing))
    }

    fn optional(&mut self, id: StringId) -> Option<Name> {
        let name = self.string(id);
        (!self.profile.names.text(name).is_empty()).then_some(name)
    }

    fn frame(&mut self, record: &FrameRecord) {
        let class = self.class(record.class);
        let frame = Frame {
            class,
            method: self.string(record.method),
            signature: self.optional(record.signature),
            source: self.optional(record.source_file),
            line: match record.line {
                Line::Number(number) => Some(number),
                _ => None,
            },
            kind: FrameKind::of(self.profile.names.text(class), record.line),
        };
        let frame = self.profile.intern_frame(frame);
        self.frames.insert(record.id.0, frame);
    }

    fn marker(&mut self, name: &str) -> FrameId {
        let frame = Frame {
            class: self.profile.names.intern(""),
            method: self.profile.names.intern(name),
            signature: None,
            source: None,
            line: None,
            kind: FrameKind::Marker,
        };
        self.profile.intern_frame(frame)
    }

    fn trace(&mut self, record: &TraceRecord<'_>) {
        let known = |frame: &FormatFrameId| self.frames.get(frame.0).is_some();
        let unknown = (!record.frames.iter().all(known)).then(|| self.marker(UNKNOWN_NAME));
        let find = |frame: &FormatFrameId| self.frames.get(frame.0).or(unknown);
        let stack = self
            .profile
            .stacks
            .push(record.frames.iter().filter_map(find));
        let trace = Trace {
            stack,
            thread: record.thread,
            host: self.host,
            file: self.file,
        };
        self.traces.insert(record.serial.0.into(), trace);
    }

    /// Begins a section of a dump; returns `true` if it is wanted.
    fn begin(&mut self, metrics: &'static [Metric]) -> bool {
        let seen = self.seen.entry(metrics).or_default();
        *seen += 1;
        self.profile.sections = self.profile.sections.max(*seen);
        let wanted = match self.wanted {
            Wanted::Last => true,
            Wanted::Number(number) => number == *seen,
        };
        if wanted {
            self.profile
                .tables
                .retain(|table| table.metrics() != metrics);
        }
        wanted
    }

    fn sites(&mut self, mut totals: [u64; 4], sites: &[AllocSite]) {
        let left_out = self.left_out.take();
        if !self.begin(&SITES) {
            return;
        }
        // A binary file has no totals above 2^32 - 1 for live objects.
        if let Some(left_out) = left_out {
            let sums = left_out.with_sites(sites);
            totals = std::array::from_fn(|at| totals[at].max(sums[at]));
        }
        let rows = sites.iter().map(|site| {
            let values = [
                site.live_bytes,
                site.live_instances,
                site.allocated_bytes,
                site.allocated_instances,
            ];
            (site.trace, Some(site.class), values)
        });
        self.table(SITES, totals, rows);
    }

    fn cpu_samples(&mut self, total: u64, rows: &[CpuSample]) {
        if self.begin(&CPU) {
            let rows = rows.iter().map(|row| (row.trace, None, [row.count.into()]));
            self.table(CPU, [total], rows);
        }
    }

    fn cpu_times(&mut self, totals: [u64; 2], rows: &[TraceTime]) {
        if self.begin(&TIMES) {
            let rows = rows
                .iter()
                .map(|row| (row.trace, None, [row.own, row.calls]));
            self.table(TIMES, totals, rows);
        }
    }

    fn monitors(&mut self, totals: [u64; 2], rows: &[ContendedTime]) {
        if self.begin(&MONITORS) {
            let rows = rows
                .iter()
                .map(|row| (row.trace, Some(row.class), [row.nanos, row.count]));
            self.table(MONITORS, totals, rows);
        }
    }

    fn old_prof(&mut self, calls: &[CallTime]) {
        if !self.begin(&OLD_PROF) {
            return;
        }
        let labels = self.profile.intern_labels(self.file_labels());
        for call in calls {
            let callee = self.frames.get(call.callee.0);
            let caller = call.caller.and_then(|caller| self.frames.get(caller.0));
            let stack = self.profile.stacks.push(callee.into_iter().chain(caller));
            let table = self.profile.table(&OLD_PROF);
            table.push(stack, labels, &[call.total, call.calls]);
        }
    }

    /// Adds a row for each of a record's, and one for the part of its totals beyond them.
    fn table<const N: usize>(
        &mut self,
        metrics: [Metric; N],
        totals: [u64; N],
        rows: impl Iterator<Item = (TraceSerial, Option<ClassSerial>, [u64; N])>,
    ) {
        let mut sums = [0_u64; N];
        self.profile.table(&metrics);
        for (trace, class, values) in rows {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.saturating_add(value);
            }
            let (stack, labels) = self.place(trace, class);
            self.profile.table(&metrics).push(stack, labels, &values);
        }
        let mut rest = totals;
        for (rest, sum) in rest.iter_mut().zip(sums) {
            *rest = rest.saturating_sub(sum);
        }
        if rest.iter().any(|&rest| rest > 0) {
            let frame = self.marker(NOT_LISTED);
            let stack = self.profile.stacks.push([frame]);
            let labels = self.profile.intern_labels(self.file_labels());
            self.profile.table(&metrics).push(stack, labels, &rest);
        }
    }

    fn place(&mut self, trace: TraceSerial, class: Option<ClassSerial>) -> (StackId, LabelsId) {
        let trace = match self.traces.get(trace.0.into()) {
            Some(found) => found,
            None => {
                let frame = self.marker(UNKNOWN_NAME);
                let stack = self.profile.stacks.push([frame]);
                let unknown = Trace {
                    stack,
                    thread: ThreadSerial(0),
                    host: self.host,
                    file: self.file,
                };
                self.traces.insert(trace.0.into(), unknown);
                unknown
            }
        };
        let labels = Labels {
            thread: self.thread(trace.thread),
            class: class.map(|class| self.class(class)),
            host: trace.host,
            file: trace.file,
        };
        (trace.stack, self.profile.intern_labels(labels))
    }

    fn thread(&mut self, thread: ThreadSerial) -> Option<Name> {
        if !thread.is_started() {
            return None;
        }
        Some(match self.threads.get(&thread) {
            Some(&name) => name,
            None => self.profile.names.intern(&format!("thread {thread}")),
        })
    }

    fn file_labels(&self) -> Labels {
        Labels {
            host: self.host,
            file: self.file,
            ..Labels::default()
        }
    }
}

/// A map from numbers that are mostly consecutive.
struct Dense<V> {
    first: u64,
    near: Vec<Option<V>>,
    far: Map<u64, V>,
}

/// The greatest distance of a number from the last one for which it is stored next to it.
const GAP: usize = 1 << 16;

impl<V> Default for Dense<V> {
    fn default() -> Self {
        Dense {
            first: 0,
            near: Vec::new(),
            far: Map::default(),
        }
    }
}

impl<V: Copy> Dense<V> {
    fn insert(&mut self, key: u64, value: V) {
        if self.near.is_empty() {
            self.first = key;
        }
        match self.near_index(key) {
            Some(index) if index < self.near.len() => self.near[index] = Some(value),
            Some(index) if index < self.near.len() + GAP => {
                self.near.resize(index, None);
                self.near.push(Some(value));
            }
            _ => {
                self.far.insert(key, value);
            }
        }
    }

    #[inline]
    fn get(&self, key: u64) -> Option<V> {
        let near = self.near_index(key).and_then(|index| self.near.get(index));
        match near {
            Some(Some(value)) => Some(*value),
            _ if self.far.is_empty() => None,
            _ => self.far.get(&key).copied(),
        }
    }

    fn near_index(&self, key: u64) -> Option<usize> {
        key.checked_sub(self.first)
            .and_then(|index| index.try_into().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_near_and_far() {
        let mut map = Dense::default();
        for key in [500_000, 500_001, 500_100, 7, u64::MAX, 600_000] {
            map.insert(key, key);
        }
        map.insert(7, 8);
        for key in [500_000, 500_001, 500_100, u64::MAX, 600_000] {
            assert_eq!(map.get(key), Some(key));
        }
        assert_eq!(map.get(7), Some(8));
        assert_eq!(map.get(500_002), None);
    }
}
