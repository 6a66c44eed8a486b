//! Builds a profile from records.

mod history;
mod times;

use std::collections::HashSet;

use foldhash::fast::RandomState;
use hprof_format::{
    AllocSite, AllocSitesRecord, CallTime, ClassSerial, ContendedTime, ControlSettingsRecord,
    CpuSample, CpuSamplesRecord, FrameId as FormatFrameId, FrameRecord, LeftOut, Line,
    LoadClassRecord, LockWaits, MonitorRecord, NameTable, NativeAmounts, NativeSites, Note,
    NoteMeaning, Record, Section, StandardErrors, StartThreadRecord, StringId, StringRecord,
    ThreadSerial, TimedLock, Timing, TraceRecord, TraceSerial, TraceTime, UNKNOWN_NAME,
    UnknownSection, WallSamples, printable, shortened, source_name,
};

use crate::dense::{Dense, Map};
use crate::markers::NOT_LISTED;
use crate::metric::Metric;
use crate::model::{
    Frame, FrameId, FrameKind, HeapDumpForm, Labels, LabelsId, NativeFacts, Profile, StackId,
};
use crate::names::Name;

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

/// The unit of the interval of WALL SAMPLES.
pub(crate) const NANOS_PER_MILLI: u64 = 1_000_000;
/// The most facts about a run that are kept.
const MOST_FACTS: usize = 64;

/// The metrics of ALLOC SITES, in the order of its values.
pub(crate) const SITES: [Metric; 4] = [
    Metric::LiveBytes,
    Metric::LiveObjects,
    Metric::AllocBytes,
    Metric::AllocObjects,
];
const CPU: [Metric; 1] = [Metric::Cpu];
const WALL: [Metric; 1] = [Metric::Wall];
const LOCKS: [Metric; 1] = [Metric::LockWait];
const TIMES: [Metric; 2] = [Metric::Time, Metric::Calls];
const OLD_PROF: [Metric; 2] = [Metric::InclusiveTime, Metric::Calls];
/// The metrics of NATIVE SITES.
pub(crate) const NATIVE: [Metric; 6] = [
    Metric::NativeLiveBytes,
    Metric::NativeLiveBlocks,
    Metric::NativeOldBytes,
    Metric::NativeOldBlocks,
    Metric::NativeBytes,
    Metric::NativeBlocks,
];
const MONITORS: [Metric; 2] = [Metric::Contention, Metric::Contentions];

/// Returns amounts in the order of [`NATIVE`].
fn native_values(amounts: NativeAmounts) -> [u64; 6] {
    [
        amounts.live_bytes,
        amounts.live_blocks,
        amounts.old_bytes,
        amounts.old_blocks,
        amounts.allocated_bytes,
        amounts.allocated_blocks,
    ]
}

/// Builds a profile out of records, which come in the order of the file.
///
/// A record may name only what earlier records define; everything else is unknown.
#[derive(Default)]
pub struct Records {
    profile: Profile,
    wanted: Wanted,
    table: NameTable<Name>,
    threads: Map<ThreadSerial, Name>,
    /// The last names of those that did not keep their first one.
    renamed: Map<ThreadSerial, Name>,
    /// The threads that have been named by costs.
    with_costs: HashSet<ThreadSerial, RandomState>,
    frames: Dense<FrameId>,
    traces: Dense<Trace>,
    /// The number of records of the same metrics so far.
    seen: Map<&'static [Metric], u32>,
    host: Option<Name>,
    file: Option<Name>,
    /// The sum of the rows that the next sites omit.
    left_out: Option<LeftOut<4>>,
    /// The standard errors of the next sites.
    errors: Option<StandardErrors>,
    /// The stack of sites that have none.
    stackless_site: Option<StackId>,
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

    /// Returns the profile as far as it has been read, before the rest comes.
    #[must_use]
    pub fn so_far(&self) -> &Profile {
        &self.profile
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

    /// Takes a fact about the run; a file has a few.
    pub fn fact(&mut self, label: &str, value: &str) {
        if label == "Process" {
            self.profile.process = value.parse().ok();
        }
        let fact = (printable(label).into_owned(), printable(value).into_owned());
        if self.profile.facts.len() < MOST_FACTS {
            self.profile.facts.push(fact);
        }
    }

    /// Notes that the file has a heap dump.
    pub fn heap_dump(&mut self, form: HeapDumpForm) {
        self.profile.heap_dump = Some(form);
    }

    /// Sets the limit on the frames of stacks.
    pub fn depth(&mut self, frames: u32) {
        self.profile.depths = vec![frames];
    }

    /// Takes a record; those without costs are ignored.
    pub fn record(&mut self, record: &Record<'_>) {
        if let Some(section) = Section::of(record) {
            return self.section(&section);
        }
        match *record {
            Record::String(StringRecord { id, ref text }) if id.is_fact() => {
                let text = String::from_utf8_lossy(text);
                if let Some((label, value)) = text.split_once(": ") {
                    self.fact(label, value);
                }
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
            Record::ControlSettings(ControlSettingsRecord { depth, .. }) => {
                self.depth(depth.into())
            }
            _ => {}
        }
    }

    /// Takes a record about monitors.
    pub fn monitor(&mut self, record: &MonitorRecord<'_>) {
        if let Some(section) = Section::of_monitor(record) {
            self.section(&section);
        }
    }

    /// Takes the result of timing methods.
    pub fn timing(&mut self, timing: &Timing<'_>) {
        self.section(&Section::CallTimes(timing));
    }

    /// Takes a section.
    pub fn section(&mut self, section: &Section<'_>) {
        match section {
            Section::Sites(AllocSitesRecord {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                sites,
                ..
            }) => {
                let totals = [
                    *live_bytes,
                    *live_instances,
                    *allocated_bytes,
                    *allocated_instances,
                ];
                self.sites(totals, sites);
            }
            Section::CpuSamples(CpuSamplesRecord { total, rows }) => {
                self.cpu_samples((*total).into(), rows);
            }
            Section::CallTimes(Timing::Traces { total, calls, rows }) => {
                self.cpu_times([*total, *calls], rows);
            }
            Section::CallTimes(Timing::Calls(calls)) => self.old_prof(calls),
            Section::WallSamples(samples) => self.wall_samples(samples),
            Section::LockWaits(waits) => self.lock_waits(waits),
            Section::NativeSites(sites) => self.native_sites(sites),
            Section::Contention { total, count, rows } => self.monitors([*total, *count], rows),
            Section::Lifetimes(lifetimes) => self.lifetimes(lifetimes),
            Section::Course(course) => self.course(course),
            Section::SampleTimes(times) => self.sample_times(times),
            Section::Note(note) => self.note(note),
            Section::Unknown(UnknownSection { name, .. }) => self.unknown(name),
            // States without a value, which `hprof top` does not show.
            Section::Monitors { .. } | Section::EndOfSnapshot => {}
        }
    }

    fn note(&mut self, note: &Note<'_>) {
        match &note.meaning {
            NoteMeaning::LeftOutSites(left_out) => self.left_out = Some(*left_out),
            NoteMeaning::StandardErrors(errors) => return self.errors = Some(*errors),
            NoteMeaning::Depths(depths) => return self.profile.depths.clone_from(depths),
            NoteMeaning::Interval(interval) => return self.profile.interval = Some(*interval),
            NoteMeaning::Origin(origin) => {
                let mut intern = |name: &String| self.profile.names.intern(name);
                self.host = origin.host.as_ref().map(&mut intern);
                self.file = origin.file.as_ref().map(intern);
                return;
            }
            NoteMeaning::Renamed { thread, name } => {
                let name = self.profile.names.intern(&shortened(&printable(name)));
                self.renamed.insert(*thread, name);
                return;
            }
            NoteMeaning::Memory(look) => {
                return self.profile.history.memory.push(look.clone());
            }
            NoteMeaning::ProcessCpu(used) => self.profile.process_cpu = Some(*used),
            // The times of sections are whole seconds in text.
            NoteMeaning::End(length) => {
                self.profile.length = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
            }
            NoteMeaning::LeftOutCallTimes(_)
            | NoteMeaning::LeftOutContentions(_)
            | NoteMeaning::Uncounted(_)
            | NoteMeaning::Layout(_)
            | NoteMeaning::Remark(_)
            | NoteMeaning::None => {}
        }
        self.profile.notes.push(note.text.clone().into_owned());
    }

    /// Notes that the file has a section that cannot be read; a file has a few.
    fn unknown(&mut self, name: &str) {
        let unknown = &mut self.profile.unknown_sections;
        let name = shortened(&printable(name)).into_owned();
        if unknown.len() < MOST_FACTS && !unknown.contains(&name) {
            // What has no place for it in an export has notes.
            self.profile.notes.push(UnknownSection::remark(&name));
            unknown.push(name);
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

    fn trace(&mut self, record: &TraceRecord<'_>) {
        let known = |frame: &FormatFrameId| self.frames.get(frame.0).is_some();
        let unknown = (!record.frames.iter().all(known)).then(|| self.profile.marker(UNKNOWN_NAME));
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
        let wanted = self.is_wanted(metrics);
        if wanted {
            self.profile
                .tables
                .retain(|table| table.metrics() != metrics);
        }
        wanted
    }

    /// Returns `true` if the last section of these metrics is wanted.
    fn is_wanted(&self, metrics: &'static [Metric]) -> bool {
        match self.wanted {
            Wanted::Last => true,
            Wanted::Number(number) => self.seen.get(metrics) == Some(&number),
        }
    }

    fn sites(&mut self, mut totals: [u64; 4], sites: &[AllocSite]) {
        let (left_out, errors) = (self.left_out.take(), self.errors.take());
        if !self.begin(&SITES) {
            return;
        }
        self.profile.errors = errors;
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

    fn wall_samples(&mut self, samples: &WallSamples) {
        if self.begin(&WALL) {
            let nanos =
                |count: u64| count.saturating_mul(samples.interval.saturating_mul(NANOS_PER_MILLI));
            let rows = samples.rows.iter();
            let rows = rows.map(|row| (row.trace, None, [nanos(row.count)]));
            self.table(WALL, [nanos(samples.total)], rows);
        }
    }

    /// Takes the waits for locks.
    pub fn lock_waits(&mut self, waits: &LockWaits) {
        if !self.begin(&LOCKS) {
            return;
        }
        self.profile.table(&LOCKS);
        let nanos =
            |count: u64| count.saturating_mul(waits.interval.saturating_mul(NANOS_PER_MILLI));
        let mut listed = 0_u64;
        for row in &waits.rows {
            listed = listed.saturating_add(row.count);
            let lock = TimedLock {
                holder: row.holder,
                class: row.class,
                identity: row.identity,
            };
            let (stack, labels) = self.lock_key(row.trace, lock);
            let table = self.profile.table(&LOCKS);
            table.push(stack, labels, &[nanos(row.count)]);
        }
        self.not_listed(&LOCKS, &[nanos(waits.total.saturating_sub(listed))]);
    }

    fn native_sites(&mut self, sites: &NativeSites) {
        if !self.begin(&NATIVE) {
            return;
        }
        self.profile.native = Some(NativeFacts {
            errors: sites.errors,
            old: sites.old,
            interval: sites.interval,
        });
        let rows = sites.rows.iter();
        let rows = rows.map(|row| (row.trace, None, native_values(row.amounts)));
        self.table(NATIVE, native_values(sites.totals), rows);
    }

    /// Returns the stack and the labels of a wait.
    fn lock_key(&mut self, trace: TraceSerial, lock: TimedLock) -> (StackId, LabelsId) {
        let (stack, labels) = self.row_key(trace, Some(lock.class));
        let holder = lock.holder.map(|holder| self.row_key(holder, None).0);
        let class = self.class(lock.class);
        let class = self.profile.names.text(class);
        let name = lock
            .identity
            .map(|identity| format!("{class}@{identity:x}"));
        let labels = Labels {
            lock: name.map(|lock| self.profile.names.intern(&lock)),
            holder,
            ..*self.profile.labels(labels)
        };
        (stack, self.profile.intern_labels(labels))
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
            let callee = callee.unwrap_or_else(|| self.profile.marker(UNKNOWN_NAME));
            let caller = call.caller.and_then(|caller| self.frames.get(caller.0));
            let stack = self.profile.stacks.push([callee].into_iter().chain(caller));
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
        let mut stackless = None;
        self.profile.table(&metrics);
        for (trace, class, values) in rows {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.saturating_add(value);
            }
            let (mut stack, labels) = self.row_key(trace, class);
            if self.profile.stacks.frames(stack).is_empty() {
                stack = *stackless.get_or_insert_with(|| self.stackless(&metrics));
            }
            self.profile.table(&metrics).push(stack, labels, &values);
        }
        let mut rest = totals;
        for (rest, sum) in rest.iter_mut().zip(sums) {
            *rest = rest.saturating_sub(sum);
        }
        self.not_listed(&metrics, &rest);
    }

    /// Adds a row for what is in the totals and in no row.
    fn not_listed(&mut self, metrics: &[Metric], rest: &[u64]) {
        if rest.iter().any(|&rest| rest > 0) {
            let frame = self.profile.marker(NOT_LISTED);
            let stack = self.profile.stacks.push([frame]);
            let labels = self.profile.intern_labels(self.file_labels());
            self.profile.table(metrics).push(stack, labels, rest);
        }
    }

    /// Adds the stack of rows that have none.
    fn stackless(&mut self, metrics: &[Metric]) -> StackId {
        let name = self.profile.stackless(metrics);
        let frame = self.profile.marker(name);
        self.profile.stacks.push([frame])
    }

    fn row_key(&mut self, trace: TraceSerial, class: Option<ClassSerial>) -> (StackId, LabelsId) {
        let trace = match self.traces.get(trace.0.into()) {
            Some(found) => found,
            None => {
                let frame = self.profile.marker(UNKNOWN_NAME);
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
            ..Labels::default()
        };
        (trace.stack, self.profile.intern_labels(labels))
    }

    fn thread(&mut self, thread: ThreadSerial) -> Option<Name> {
        if !thread.is_started() {
            return None;
        }
        let first = match self.threads.get(&thread) {
            Some(&name) => name,
            None => self.profile.names.intern(&format!("thread {thread}")),
        };
        let last = self.renamed.get(&thread).copied();
        let name = match last.filter(|&last| last != first) {
            Some(last) => {
                let names = &mut self.profile.names;
                let both = format!("{} (was {})", names.text(last), names.text(first));
                names.intern(&both)
            }
            None => first,
        };
        if self.with_costs.insert(thread) {
            *self.profile.threads_named.entry(name).or_default() += 1;
        }
        Some(name)
    }

    fn file_labels(&self) -> Labels {
        Labels {
            host: self.host,
            file: self.file,
            ..Labels::default()
        }
    }
}
