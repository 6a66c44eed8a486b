//! The text format: `format=a`.

mod course;
mod digits;
mod heap;
mod lifetimes;
mod lock_waits;
mod native_sites;
mod sites;
mod wall;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use foldhash::HashMap;

use crate::ctime::ctime;
use crate::encode::{Encoder, Micros, Millis};
use crate::monitor::{END_OF_SNAPSHOT, MonitorRecord};
use crate::names::{NameTable, ResolvedName, UNKNOWN_NAME, shared_source_name};
use crate::printable::{printable, shortened};
use crate::record::{
    AllocSitesRecord, CpuSample, CpuSamplesRecord, EndThreadRecord, FrameRecord, HeapDumpEndRecord,
    HeapDumpSegmentRecord, Line, LoadClassRecord, Record, StartThreadRecord, StringRecord,
    TraceRecord,
};
use crate::record::{ClassSerial, FrameId, StringId, TraceSerial};
use crate::section::{Note, Section, UnknownSection};
use crate::timing::millis;
use crate::timing::{Timing, TraceTime};
use heap::HeapText;
use sites::SitesOrder;

/// The description of the records for readers, between the first line and the line of dashes.
///
/// Parsers search the whole file: no line here may look like a record's first line.
const DESCRIPTION: &str = "\
This file is the profile of a Java program, written as a sequence of records:

  THREAD START, THREAD END
      A thread began or ended. The other records name it by its id; obj is
      its java.lang.Thread object.

  TRACE
      A call stack, the innermost frame first, under the number by which the
      other records name it. Where stacks are kept apart by thread (thread=y),
      the number is followed by the thread.

  CPU SAMPLES
      How often each stack was found to be using the CPU, the most frequent
      first. self is a row's share of the total, accum the share of all rows
      down to this one; rows with a smaller share than the cutoff are left
      out. A thread is charged only for CPU time that it really used, so one
      that waits or is blocked does not appear. Where the head says
      safepoint-biased, stacks were taken at the places where the Java VM can
      stop a thread: the shares of threads are right, but those of methods
      lean toward methods with such places. CPU time whose stack could not be seen is shown as
      java.lang.Thread.<unsampled>.

  WALL SAMPLES
      Where threads spent the time that passed, running or not (wall=): all
      threads of the program, sampled at an interval of elapsed time. The
      innermost frame of each stack is the state: java.lang.Thread.<running>,
      <runnable> (waits for a CPU), <blocked> (wants a monitor), <parked>,
      <waiting> (in Object.wait), <sleeping>, <native> (waits in a native
      method, such as one that reads from a socket), <vm> (waits for the Java
      VM). threads is how many there were. A virtual thread is sampled while
      a carrier runs it, not while it waits unmounted; <pinned> below the
      state says that it waits and keeps its carrier.

  LOCK WAITS
      Who waited for which lock, and who held it (monitor=y): monitors
      (synchronized) and locks of java.util.concurrent. All threads that
      wait are counted once in each interval; their time is count times
      interval. trace is the stack of the waiting threads, holder that of the
      thread that had the lock then: 0 where no thread was seen to have it.
      The number after @ is the lock's identity hash code.

  CPU TIME
      How much time each stack's innermost method took itself, without what
      it called, and how often it was called in this way; the costliest
      first. Every call is counted. The time is CPU time (clock=cpu), sampled
      CPU time (clock=samples), or the time that passed (clock=wall). Lines in
      parentheses before it say what could not be timed: calls from there
      count as calls from the next timed method further out, which is also
      charged for their time. One of these lines says what the rows below the
      cutoff add up to.

  SITES
      Where objects were allocated: for each class and stack, how many bytes
      and objects are alive, and how many were allocated in all. self and
      accum are shares of all bytes of the kind that the rows are ordered by.
      A row is left out where each of its four numbers is a smaller share than
      the cutoff. Lines in parentheses before it say how the numbers came to
      be, and what the rows left out add up to.

  WAIT, WAITED
      A thread called Object.wait, or came back from it. Times are in ms, a
      timeout of 0 is none.

  SITE LIFETIMES
      How long the objects of a class and stack lived, and how old those are
      that live (lifetimes=y). survived is the number of garbage collections
      since an object was made that have not removed it, age the time since
      it was made. Where only an interval is known, both its ends are given.
      Objects in state before were there when the profile began, those in
      state peak were alive after the collection that left most bytes. The
      first rows, of all, are the sums over all classes and stacks.

  LIVE COURSE
      What was alive over time (lifetimes=y), in all and for some classes and
      stacks, at looks at all objects after garbage collections. Of the looks
      in one step, a row has the last one's time, in ms since the profile
      began, and collections, the most bytes and the fewest objects that had
      survived a collection, and what had been allocated by the last one.
      A first row with 0 objects says that none had survived one before.

  MONITOR TIME
      How long threads had to wait for monitors that others held, and how
      often (count): for each stack and class of monitors, the longest first.
      self and accum are shares of the total. A line in parentheses before it
      says what the rows below the cutoff add up to.

  MONITOR DUMP
      Every thread with its stack, status (R runnable, SL sleeping, MW waiting
      to enter, CW waiting, ZO ended, NS not started, UN unknown; in front S|
      suspended, intr| interrupted, native| in native code) and name, and
      every monitor that threads want or wait for, with its owner.

  HEAP DUMP
      What is in the heap: its roots, classes, plain objects and arrays, with
      the stack that allocated each object and everything that they refer to.
      References that are null and values that are none are left out. sz is
      the bytes of an object, as far as its fields tell.
";

/// Writes the text format.
///
/// It remembers strings, classes, frames and the top of each trace for as long as it lives, because the records that
/// print names only carry ids. STRING, LOAD CLASS, UNLOAD CLASS, FRAME, HEAP SUMMARY and CONTROL SETTINGS print
/// nothing. An id without a record prints `<unknown>`. Class names in the form of class files print as in Java source.
///
/// In heap dumps, classes must come before their instances and those of their subclasses: otherwise an instance is
/// printed without its fields. The numbers in a dump's first line come from a HEAP SUMMARY before it. `sz` is the size
/// of an object in a heap with references of 4 bytes, the default below 32 GB, as far as its fields reveal it.
///
/// Names are passed through [`printable`], so that no name can look like a line of its own.
#[derive(Debug, Default)]
pub struct TextEncoder {
    start: Millis,
    about: Vec<(Cow<'static, str>, String)>,
    names: NameTable,
    frames: HashMap<FrameId, FrameText>,
    /// The innermost frame of each trace; `None` for a trace without frames.
    tops: HashMap<TraceSerial, Option<FrameId>>,
    heap: HeapText,
}

/// The text of a frame, with the names at the time of its definition.
#[derive(Debug)]
struct FrameText {
    class: ResolvedName<Arc<str>>,
    method: ResolvedName<Arc<str>>,
    /// Empty if the class names no file.
    source_file: ResolvedName<Arc<str>>,
    line: Line,
}

/// `Class.method`.
struct QualifiedMethod<'a>(&'a FrameText);

impl fmt::Display for QualifiedMethod<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FrameText { class, method, .. } = self.0;
        write!(out, "{}.{}", class.as_str(), method.as_str())
    }
}

/// `Class.method(File.java:12)`.
impl fmt::Display for FrameText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.source_file.as_str() {
            "" => "<Unknown Source>",
            name => name,
        };
        write!(out, "{}({file}:", QualifiedMethod(self))?;
        match self.line {
            Line::Number(number) => write!(out, "{number})"),
            // Parsers accept a number or this. The binary format distinguishes native methods.
            Line::Unknown | Line::Compiled | Line::Native => out.write_str("Unknown line)"),
        }
    }
}

impl TextEncoder {
    /// Creates an encoder for one file.
    #[must_use]
    pub fn new() -> TextEncoder {
        TextEncoder::default()
    }

    /// As [`TextEncoder::new`], with facts about the run below the file's first line: labels of one word, and their
    /// values.
    #[must_use]
    pub fn of_run<L: Into<Cow<'static, str>>>(about: Vec<(L, String)>) -> TextEncoder {
        let about = about.into_iter();
        TextEncoder {
            about: about.map(|(label, text)| (label.into(), text)).collect(),
            ..TextEncoder::default()
        }
    }

    fn print_head(&self, created: &str, out: &mut Vec<u8>) -> io::Result<()> {
        writeln!(out, "JAVA PROFILE 1.0.1, created {created}\n")?;
        for (label, text) in &self.about {
            let label = format!("{}:", printable(label.as_bytes()));
            writeln!(out, "{label:<11} {}", printable(text.as_bytes()))?;
        }
        if !self.about.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{DESCRIPTION}\n--------\n")
    }
}

impl Encoder for TextEncoder {
    fn start(&mut self, time: Millis, out: &mut Vec<u8>) {
        self.start = time;
        self.print_head(&ctime(time, Micros(0)), out)
            .expect("a Vec takes every write");
    }

    fn record(&mut self, time: Micros, record: &Record<'_>, out: &mut Vec<u8>) {
        self.write(time, record, out)
            .expect("a Vec takes every write");
    }

    fn monitor(&mut self, time: Micros, record: &MonitorRecord<'_>, out: &mut Vec<u8>) -> bool {
        self.print_monitor(time, record, out)
            .expect("a Vec takes every write");
        true
    }

    fn timing(&mut self, time: Micros, timing: &Timing<'_>, out: &mut Vec<u8>) {
        self.print_section(time, &Section::CallTimes(timing), out)
            .expect("a Vec takes every write");
    }
}

impl TextEncoder {
    /// Writes the text that [`Encoder::record`] appends. A few rows that name a long string produce a long text, which
    /// goes directly to `out`, piece by piece.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &mut self,
        time: Micros,
        record: &Record<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.heap.note(record);
        if let Some(section) = Section::of(record) {
            self.heap_note(&section);
            return self.print_section(time, &section, out);
        }
        match *record {
            // A fact.
            Record::String(StringRecord { id, ref text }) if id.is_note() => {
                writeln!(out, "({})", printable(text))?;
            }
            Record::String(StringRecord {
                id: StringId::BROKE_OFF,
                ref text,
            }) => self.heap_broke_off(text, out)?,
            Record::String(StringRecord { id, ref text }) => {
                let text = shortened(&printable(text)).into();
                self.names.define_string(id, text);
            }
            Record::LoadClass(LoadClassRecord {
                serial,
                name,
                class_object,
                ..
            }) => {
                self.names.define_class(serial, name, shared_source_name);
                self.heap.load(serial, class_object);
            }
            Record::Frame(FrameRecord {
                id,
                method,
                source_file,
                class,
                line,
                ..
            }) => {
                let frame = self.frame(class, method, source_file, line);
                self.frames.insert(id, frame);
            }
            // Traces and sites go on naming an unloaded class.
            Record::UnloadClass(_) | Record::HeapSummary(_) | Record::ControlSettings(_) => {}
            Record::HeapDumpSegment(HeapDumpSegmentRecord { ref content }) => {
                self.heap_content(time, content, out)?
            }
            Record::HeapDumpEnd(HeapDumpEndRecord) => self.heap_end(out)?,
            _ => self.print(record, out)?,
        }
        Ok(())
    }

    fn print_section(
        &self,
        time: Micros,
        section: &Section<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match section {
            Section::Sites(AllocSitesRecord {
                flags,
                live_bytes,
                allocated_bytes,
                sites,
                ..
            }) => {
                let order = SitesOrder::of(*flags, *live_bytes, *allocated_bytes);
                self.print_sites(time, &order, sites, out)
            }
            Section::CpuSamples(CpuSamplesRecord { total, rows }) => {
                self.print_cpu_samples(time, *total, rows, out)
            }
            Section::CallTimes(Timing::Traces { total, rows, .. }) => {
                self.print_cpu_times(time, *total, rows, out)
            }
            // A format of its own.
            Section::CallTimes(Timing::Calls(_)) => Ok(()),
            Section::WallSamples(samples) => self.print_wall_samples(time, samples, out),
            Section::LockWaits(waits) => self.print_lock_waits(time, waits, out),
            Section::NativeSites(sites) => self.print_native_sites(time, sites, out),
            Section::Monitors { threads, monitors } => self.print_monitors(threads, monitors, out),
            Section::Contention { total, rows, .. } => self.print_time(time, *total, rows, out),
            Section::Lifetimes(lifetimes) => self.print_lifetimes(time, lifetimes, out),
            Section::Course(course) => self.print_course(time, course, out),
            // Only binary files have it.
            Section::SampleTimes(_) => Ok(()),
            Section::EndOfSnapshot => writeln!(out, "({END_OF_SNAPSHOT})"),
            Section::Note(Note { text, .. }) | Section::Unknown(UnknownSection { text, .. }) => {
                writeln!(out, "({})", printable(text.as_bytes()))
            }
        }
    }

    /// Returns the file's time stamp.
    pub(crate) fn start_time(&self) -> Millis {
        self.start
    }

    fn print(&mut self, record: &Record<'_>, out: &mut impl Write) -> io::Result<()> {
        match *record {
            Record::StartThread(StartThreadRecord {
                serial,
                object,
                name,
                group,
                ..
            }) => {
                writeln!(
                    out,
                    "THREAD START (obj={:x}, id = {serial}, name=\"{}\", group=\"{}\")",
                    object.0,
                    self.string(name),
                    self.string(group)
                )?;
                self.names.forget_used(name);
                Ok(())
            }
            Record::EndThread(EndThreadRecord { serial }) => {
                writeln!(out, "THREAD END (id = {serial})")
            }
            Record::Trace(TraceRecord {
                serial,
                thread,
                ref frames,
            }) => {
                self.tops.insert(serial, frames.first().copied());
                match thread.0 {
                    0 => writeln!(out, "TRACE {serial}:")?,
                    _ => writeln!(out, "TRACE {serial}: (thread={thread})")?,
                }
                self.print_frames(frames, out)
            }
            _ => Ok(()),
        }
    }

    fn print_frames(&self, frames: &[FrameId], out: &mut impl Write) -> io::Result<()> {
        if frames.is_empty() {
            return writeln!(out, "\t<empty>");
        }
        for frame in frames {
            match self.frames.get(frame) {
                Some(frame) => writeln!(out, "\t{frame}")?,
                // Parsers insist on a file and a line.
                None => writeln!(out, "\t{UNKNOWN_NAME}(<Unknown Source>:Unknown line)")?,
            }
        }
        Ok(())
    }

    fn print_cpu_samples(
        &self,
        time: Micros,
        total: u32,
        rows: &[CpuSample],
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "CPU SAMPLES BEGIN (total = {total}) {}",
            ctime(self.start, time)
        )?;
        writeln!(out, "rank   self  accum   count trace method")?;
        let mut accumulated = 0;
        for (rank, row) in (1..).zip(rows) {
            accumulated += u64::from(row.count);
            let own = percent(row.count.into(), total.into());
            let accum = percent(accumulated, total.into());
            let (count, trace) = (row.count, row.trace);
            write!(out, "{rank:4} {own:5.2}% {accum:5.2}% {count:7} {trace:5} ")?;
            self.end_with_top(trace, out)?;
        }
        writeln!(out, "CPU SAMPLES END")
    }

    fn print_cpu_times(
        &self,
        time: Micros,
        total: u64,
        rows: &[TraceTime],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let created = ctime(self.start, time);
        let millis = millis(total);
        writeln!(out, "CPU TIME (ms) BEGIN (total = {millis}) {created}")?;
        writeln!(out, "rank   self  accum   count trace method")?;
        let mut accumulated = 0;
        for (rank, row) in (1..).zip(rows) {
            accumulated += row.own;
            let own = percent(row.own, total);
            let accum = percent(accumulated, total);
            let (count, trace) = (row.calls, row.trace);
            write!(out, "{rank:4} {own:5.2}% {accum:5.2}% {count:7} {trace:5} ")?;
            self.end_with_top(trace, out)?;
        }
        writeln!(out, "CPU TIME (ms) END")
    }

    fn frame(
        &self,
        class: ClassSerial,
        method: StringId,
        source_file: StringId,
        line: Line,
    ) -> FrameText {
        let string = |id| self.names.string(id).cloned();
        FrameText {
            class: self.names.class(class).cloned(),
            method: string(method),
            source_file: string(source_file),
            line,
        }
    }

    /// Writes the innermost method of a trace, and the end of the line.
    fn end_with_top(&self, trace: TraceSerial, out: &mut impl Write) -> io::Result<()> {
        match self.tops.get(&trace) {
            Some(None) => writeln!(out, "<empty>"),
            Some(Some(frame)) => match self.frames.get(frame) {
                Some(frame) => writeln!(out, "{}", QualifiedMethod(frame)),
                None => writeln!(out, "{UNKNOWN_NAME}"),
            },
            None => writeln!(out, "{UNKNOWN_NAME}"),
        }
    }

    pub(crate) fn class_name(&self, class: ClassSerial) -> &str {
        self.names.class(class).as_str()
    }

    fn string(&self, id: StringId) -> &str {
        self.names.string(id).as_str()
    }
}

pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 * 100.0 / whole as f64
}

#[cfg(test)]
mod tests;
