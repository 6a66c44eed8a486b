//! CPU samples, elapsed time, call times, allocation sites and contended monitors: of each kind, those of one dump of the run.

use std::time::Duration;

use hprof_format::{
    AllocSite, AllocSitesRecord, CallTime, ClassSerial, ContendedTime, CpuSample, CpuSamplesRecord,
    LeftOut, NoteMeaning, SampleTimes, Section, TimedSection, Timing, TraceSerial, TraceTime,
    UnknownSection, WallSample, sampling_interval,
};

use crate::error::Error;
use crate::history::HistoryRows;
use crate::names::{self, NOT_LISTED, Names, nanos, signed};
use crate::native::NativeRows;
use crate::output::Output;
use crate::times::TimeRows;
use crate::waits::WaitRows;

/// The costs in the records so far.
#[derive(Default)]
pub(crate) struct Costs {
    /// The wanted dump, from 1; `None` for the last one.
    wanted: Option<u32>,
    cpu_samples: CostRows<1>,
    /// The CPU time that a sample stands for.
    interval: Option<Duration>,
    wall_samples: CostRows<1>,
    /// The time that one of them stands for, in milliseconds.
    wall_interval: u64,
    waits: WaitRows,
    call_times: CostRows<2>,
    sites: CostRows<4>,
    native: NativeRows,
    monitors: CostRows<2>,
    calls: Vec<CallTime>,
    calls_seen: u32,
    history: HistoryRows,
    times: TimeRows,
    /// The sum of the rows that the next sites omit.
    left_out: Option<LeftOut<4>>,
}

/// The rows of the wanted dump.
struct CostRows<const N: usize> {
    seen: u32,
    rows: Vec<CostRow<N>>,
    totals: [u64; N],
}

struct CostRow<const N: usize> {
    trace: TraceSerial,
    class: ClassSerial,
    values: [u64; N],
}

impl<const N: usize> Default for CostRows<N> {
    fn default() -> Self {
        CostRows {
            seen: 0,
            rows: Vec::new(),
            totals: [0; N],
        }
    }
}

/// A row as it is stored.
struct Stored<const N: usize> {
    trace: i64,
    class: Option<i64>,
    values: [i64; N],
}

impl Costs {
    pub(crate) fn new(wanted: Option<u32>) -> Costs {
        Costs {
            wanted,
            ..Costs::default()
        }
    }

    /// Returns the number of dumps in the file.
    pub(crate) fn sections(&self) -> u32 {
        let seen = [
            self.cpu_samples.seen,
            self.wall_samples.seen,
            self.waits.seen(),
            self.call_times.seen,
            self.sites.seen,
            self.native.seen(),
            self.monitors.seen,
            self.calls_seen,
        ];
        seen.into_iter().max().unwrap_or_default()
    }

    /// Takes a fact about the run.
    pub(crate) fn fact(&mut self, label: &str, value: &str) {
        if label == "Options" {
            self.interval = sampling_interval(value);
        }
    }

    /// Takes a section; notes have their names with `names`.
    pub(crate) fn section(&mut self, section: &Section<'_>, names: &mut Names) {
        match section {
            Section::Sites(sites) => self.sites(sites),
            Section::CpuSamples(CpuSamplesRecord { total, rows }) => {
                let rows = rows.iter().map(CostRow::from);
                self.cpu_samples.take(self.wanted, [(*total).into()], rows);
                self.forget_times(TimedSection::CpuSamples);
            }
            Section::CallTimes(Timing::Traces { total, calls, rows }) => {
                let rows = rows.iter().map(CostRow::from);
                self.call_times.take(self.wanted, [*total, *calls], rows);
            }
            Section::CallTimes(Timing::Calls(calls)) => {
                self.calls_seen += 1;
                if self.wanted.is_none_or(|wanted| wanted == self.calls_seen) {
                    self.calls = calls.to_vec();
                }
            }
            Section::WallSamples(samples) => {
                let rows = samples.rows.iter().map(CostRow::from);
                self.wall_samples.take(self.wanted, [samples.total], rows);
                self.wall_interval = samples.interval;
                self.forget_times(TimedSection::WallSamples);
            }
            Section::LockWaits(waits) => {
                self.waits.take(self.wanted, waits);
                self.forget_times(TimedSection::LockWaits);
            }
            Section::Contention { total, count, rows } => {
                let rows = rows.iter().map(CostRow::from);
                self.monitors.take(self.wanted, [*total, *count], rows);
            }
            Section::Lifetimes(lifetimes) => self.history.lifetimes(self.wanted, lifetimes),
            Section::Course(course) => self.history.course(self.wanted, course),
            Section::Note(note) => {
                match &note.meaning {
                    NoteMeaning::Origin(origin) => return names.origin(origin),
                    NoteMeaning::LeftOutSites(left_out) => self.left_out = Some(*left_out),
                    NoteMeaning::Interval(interval) => self.interval = Some(*interval),
                    NoteMeaning::Renamed { thread, name } => names.renamed(*thread, name),
                    NoteMeaning::LeftOutCallTimes(_)
                    | NoteMeaning::LeftOutContentions(_)
                    | NoteMeaning::StandardErrors(_)
                    | NoteMeaning::Uncounted(_)
                    | NoteMeaning::Layout(_)
                    | NoteMeaning::Depths(_)
                    | NoteMeaning::Remark(_)
                    | NoteMeaning::ProcessCpu(_)
                    | NoteMeaning::Memory(_)
                    | NoteMeaning::End(_)
                    | NoteMeaning::None => {}
                }
                names.notes.push(note.text.clone().into_owned());
            }
            Section::Unknown(UnknownSection { name, .. }) => {
                names.notes.push(UnknownSection::remark(name));
            }
            Section::SampleTimes(times) => self.sample_times(times),
            Section::NativeSites(sites) => self.native.take(self.wanted, sites),
            // States without a value.
            Section::Monitors { .. } | Section::EndOfSnapshot => {}
        }
    }

    fn sites(&mut self, record: &AllocSitesRecord<'_>) {
        let mut totals = [
            record.allocated_bytes,
            record.allocated_instances,
            record.live_bytes,
            record.live_instances,
        ];
        // A binary file has no totals above 2^32 - 1 for live objects.
        if let Some(left_out) = self.left_out.take() {
            let [live, live_objects, allocated, allocated_objects] =
                left_out.with_sites(&record.sites);
            let sums = [allocated, allocated_objects, live, live_objects];
            totals = std::array::from_fn(|at| totals[at].max(sums[at]));
        }
        let rows = record.sites.iter().map(CostRow::from);
        self.sites.take(self.wanted, totals, rows);
    }

    /// Takes the times of the samples of the section before them.
    fn sample_times(&mut self, times: &SampleTimes) {
        let seen = match times.of {
            TimedSection::CpuSamples => self.cpu_samples.seen,
            TimedSection::WallSamples => self.wall_samples.seen,
            TimedSection::LockWaits => self.waits.seen(),
        };
        if self.wanted.is_none_or(|wanted| wanted == seen) {
            self.times.take(times);
        }
    }

    /// The last dump counts, even if it has no times.
    fn forget_times(&mut self, of: TimedSection) {
        if self.wanted.is_none() {
            self.times.forget(of);
        }
    }

    /// Writes the tables.
    pub(crate) fn write(self, names: &mut Names, out: &mut Output) -> Result<(), Error> {
        for row in self.cpu_samples.stored(names, out)? {
            let [samples] = row.values;
            out.cpu_sample.row(|to| {
                to.long(row.trace)
                    .long(samples)
                    .long(self.interval.map(|interval| nanos(samples, interval)));
            })?;
        }
        let interval = Duration::from_millis(self.wall_interval);
        for row in self.wall_samples.stored(names, out)? {
            let [samples] = row.values;
            out.wall_sample.row(|to| {
                to.long(row.trace)
                    .long(samples)
                    .long(nanos(samples, interval));
            })?;
        }
        self.waits.write(names, out)?;
        self.times.write(names, out)?;
        for row in self.call_times.stored(names, out)? {
            let [own, calls] = row.values;
            out.call_time.row(|to| {
                to.long(row.trace).long(calls).long(own).long(None);
            })?;
        }
        for call in self.calls {
            let frames = [Some(call.callee), call.caller];
            let frames: Vec<i64> = frames.iter().flatten().map(|id| names::id(id.0)).collect();
            let trace = names.new_trace(out, &frames)?;
            out.call_time.row(|to| {
                to.long(trace)
                    .long(signed(call.calls))
                    .long(None)
                    .long(signed(call.total));
            })?;
        }
        for row in self.sites.stored(names, out)? {
            out.alloc_site.row(|to| {
                to.long(row.trace).long(row.class);
                for value in row.values {
                    to.long(value);
                }
            })?;
        }
        self.history.write(names, out)?;
        self.native.write(names, out)?;
        for row in self.monitors.stored(names, out)? {
            let [time, count] = row.values;
            out.monitor.row(|to| {
                to.long(row.trace).long(row.class).long(time).long(count);
            })?;
        }
        Ok(())
    }
}

impl<const N: usize> CostRows<N> {
    fn take(
        &mut self,
        wanted: Option<u32>,
        totals: [u64; N],
        rows: impl Iterator<Item = CostRow<N>>,
    ) {
        self.seen += 1;
        if wanted.is_none_or(|wanted| wanted == self.seen) {
            self.totals = totals;
            self.rows = rows.collect();
        }
    }

    /// Returns the rows, including one for the part of the totals beyond them, ordered by class and trace.
    fn stored(self, names: &mut Names, out: &mut Output) -> Result<Vec<Stored<N>>, Error> {
        let mut rest = self.totals;
        let mut stored = Vec::with_capacity(self.rows.len() + 1);
        for row in &self.rows {
            for (rest, value) in rest.iter_mut().zip(row.values) {
                *rest = rest.saturating_sub(value);
            }
            stored.push(Stored {
                trace: names.trace_id(out, row.trace)?,
                class: names.class_id(row.class),
                values: row.values.map(signed),
            });
        }
        if rest.iter().any(|&rest| rest > 0) {
            let frame = names.marker(out, NOT_LISTED)?;
            stored.push(Stored {
                trace: names.new_trace(out, &[frame])?,
                class: None,
                values: rest.map(signed),
            });
        }
        stored.sort_by_key(|row| (row.class, row.trace));
        Ok(stored)
    }
}

/// The serial number that means no class.
const NONE: ClassSerial = ClassSerial(0);

impl From<&CpuSample> for CostRow<1> {
    fn from(row: &CpuSample) -> Self {
        CostRow {
            trace: row.trace,
            class: NONE,
            values: [row.count.into()],
        }
    }
}

impl From<&WallSample> for CostRow<1> {
    fn from(row: &WallSample) -> Self {
        CostRow {
            trace: row.trace,
            class: NONE,
            values: [row.count],
        }
    }
}

impl From<&TraceTime> for CostRow<2> {
    fn from(row: &TraceTime) -> Self {
        CostRow {
            trace: row.trace,
            class: NONE,
            values: [row.own, row.calls],
        }
    }
}

impl From<&AllocSite> for CostRow<4> {
    fn from(row: &AllocSite) -> Self {
        CostRow {
            trace: row.trace,
            class: row.class,
            values: [
                row.allocated_bytes,
                row.allocated_instances,
                row.live_bytes,
                row.live_instances,
            ],
        }
    }
}

impl From<&ContendedTime> for CostRow<2> {
    fn from(row: &ContendedTime) -> Self {
        CostRow {
            trace: row.trace,
            class: row.class,
            values: [row.nanos, row.count],
        }
    }
}
