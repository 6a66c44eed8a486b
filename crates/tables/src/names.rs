//! Classes, threads, frames and stacks, by their numbers in the file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use foldhash::{HashMap, HashSet};
use hprof_format::{
    ClassSerial, EndThreadRecord, FrameRecord, Line, LoadClassRecord, NameTable, ObjectId, Origin,
    Record, StartThreadRecord, StringId, StringRecord, ThreadSerial, TraceRecord, TraceSerial,
    UNKNOWN_NAME, printable, shared_source_name, shortened,
};
use hprof_profile::{FrameKind, stable_class};

use crate::error::Error;
use crate::file::TableFile;
use crate::hash;
use crate::output::Output;

/// The first number that no file uses: serial numbers have 32 bits.
pub(crate) const MADE_UP: i64 = 1 << 32;
/// The same for frames, whose numbers have 64 bits.
const MADE_UP_FRAMES: i64 = 1 << 62;
/// The frame of costs that are in the file's totals but in no row.
pub(crate) const NOT_LISTED: &str = "<not listed>";
/// The text of a stack without frames.
const EMPTY: &str = "<empty>";
/// The most bytes of a stack on one line: thousands of frames with one long name would be gigabytes in a cell.
const LONGEST_STACK: usize = 1 << 20;

/// The names in the records so far.
#[derive(Default)]
pub(crate) struct Names {
    table: NameTable,
    classes: Vec<NamedClass>,
    class_of: HashMap<u32, usize>,
    class_of_object: HashMap<u64, usize>,
    /// `Class.method` of each frame, as written in a stack.
    frames: HashMap<i64, Box<str>>,
    traces: HashSet<i64>,
    /// Threads that have a row, or get one, and those that are named and may have none.
    threads: HashSet<u32>,
    /// Those that have not ended: they may get another name.
    alive: BTreeMap<u32, NamedThread>,
    named_threads: HashSet<u32>,
    made_up: i64,
    made_up_frames: i64,
    pub(crate) host: Option<String>,
    merged_host: Option<String>,
    merged_file: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// A class; the facts that only a heap dump has are added later.
pub(crate) struct NamedClass {
    pub(crate) id: i64,
    name: String,
    full_name: String,
    trace: Option<i64>,
    pub(crate) object: Option<i64>,
    pub(crate) super_class: Option<i64>,
    pub(crate) loader: Option<i64>,
    pub(crate) instance_bytes: Option<i64>,
}

/// A thread before it is written.
struct NamedThread {
    name: Option<String>,
    /// The name that it got last.
    last_name: Option<String>,
    group: Option<String>,
    parent_group: Option<String>,
    object: Option<i64>,
    trace: Option<i64>,
}

/// Returns a number as it is stored.
pub(crate) fn signed(value: u64) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

/// Returns the time that samples stand for.
pub(crate) fn nanos(samples: i64, interval: Duration) -> i64 {
    let nanos = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
    samples.saturating_mul(nanos)
}

/// Returns an id of 64 bits as it is stored.
pub(crate) fn id(id: u64) -> i64 {
    id.cast_signed()
}

impl Names {
    /// Takes a record; those without names are ignored.
    pub(crate) fn record(&mut self, record: &Record<'_>, out: &mut Output) -> Result<(), Error> {
        match *record {
            Record::String(StringRecord { id, .. }) if id.is_fact() => {}
            Record::String(StringRecord { id, ref text }) => {
                let text = String::from_utf8_lossy(text);
                self.table.define_string(id, shortened(&text).into());
            }
            Record::LoadClass(ref class) => self.class(class),
            Record::Frame(ref frame) => return self.frame(out, frame),
            Record::Trace(ref trace) => return self.trace(out, trace),
            Record::StartThread(ref thread) => self.thread(thread),
            Record::EndThread(EndThreadRecord { serial }) => {
                if let Some(ended) = self.alive.remove(&serial.0) {
                    return ended.write(serial.0, &mut out.thread);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the classes, at the end, when a heap dump has added more facts, and the threads that did not end.
    pub(crate) fn finish(mut self, out: &mut Output) -> Result<(), Error> {
        self.classes.sort_by_key(|class| class.id);
        for class in &self.classes {
            out.class.row(|row| {
                row.long(class.id)
                    .text(&*class.name)
                    .text(&*class.full_name)
                    .long(class.trace)
                    .long(class.object)
                    .long(class.super_class)
                    .long(class.loader)
                    .long(class.instance_bytes);
            })?;
        }
        let mut missing: Vec<u32> = self
            .named_threads
            .difference(&self.threads)
            .copied()
            .collect();
        missing.sort_unstable();
        for serial in missing {
            self.unnamed_thread(ThreadSerial(serial), ObjectId(0));
        }
        for (serial, thread) in self.alive {
            thread.write(serial, &mut out.thread)?;
        }
        Ok(())
    }

    /// Takes the run that the next records come from.
    pub(crate) fn origin(&mut self, origin: &Origin) {
        self.merged_host.clone_from(&origin.host);
        self.merged_file.clone_from(&origin.file);
    }

    /// Returns the text of a string; `None` for no string and for an empty one.
    fn string(&self, id: StringId) -> Option<&str> {
        let text = self.table.string(id).as_str();
        (!text.is_empty()).then_some(text)
    }

    fn class(&mut self, record: &LoadClassRecord) {
        let (serial, object, trace) = (record.serial, record.class_object, record.trace);
        if self.class_of.contains_key(&serial.0) {
            return;
        }
        self.table
            .define_class(serial, record.name, shared_source_name);
        let mut class = NamedClass::named(serial.0.into(), self.table.class(serial).as_str());
        class.trace = (trace.0 != 0).then_some(trace.0.into());
        class.object = (object.0 != 0).then(|| id(object.0));
        let index = self.classes.len();
        self.class_of.insert(serial.0, index);
        if object.0 != 0 {
            self.class_of_object.entry(object.0).or_insert(index);
        }
        self.classes.push(class);
    }

    /// Returns the class of a serial number, adding a row if it has none; `None` if the file does not define it.
    pub(crate) fn class_id(&mut self, serial: ClassSerial) -> Option<i64> {
        if serial.0 == 0 {
            return None;
        }
        if !self.class_of.contains_key(&serial.0) {
            self.class_of.insert(serial.0, self.classes.len());
            self.classes
                .push(NamedClass::named(serial.0.into(), UNKNOWN_NAME));
        }
        Some(serial.0.into())
    }

    /// Returns the class with this object.
    pub(crate) fn class_of_object(&mut self, object: ObjectId) -> Option<&mut NamedClass> {
        let index = *self.class_of_object.get(&object.0)?;
        self.classes.get_mut(index)
    }

    /// Adds a class that has no serial number in the file.
    pub(crate) fn add_class(&mut self, class: NamedClass) {
        self.classes.push(class);
    }

    fn frame(&mut self, out: &mut Output, record: &FrameRecord) -> Result<(), Error> {
        let frame = id(record.id.0);
        if self.frames.contains_key(&frame) {
            return Ok(());
        }
        let class_id = self.class_id(record.class);
        let class = self
            .class_of
            .get(&record.class.0)
            .map(|&index| &*self.classes[index].name);
        let class_name = class.unwrap_or(UNKNOWN_NAME);
        let kind = FrameKind::of(class_name, record.line).name();
        let number = match record.line {
            Line::Number(number) => Some(number.cast_signed()),
            _ => None,
        };
        let method = self.string(record.method).unwrap_or_default();
        let full = match class_name {
            "" => method.to_owned(),
            _ => format!("{class_name}.{method}"),
        };
        out.frame.row(|row| {
            row.long(frame)
                .long(class_id.filter(|_| !class_name.is_empty()))
                .text(class_name)
                .text(method)
                .text(self.string(record.signature))
                .text(self.string(record.source_file))
                .int(number)
                .text(kind);
        })?;
        let in_stack = shortened(&printable(&full)).replace(';', ":");
        self.frames.insert(frame, in_stack.into());
        Ok(())
    }

    fn trace(&mut self, out: &mut Output, record: &TraceRecord<'_>) -> Result<(), Error> {
        let thread = self.thread_id(record.thread);
        let frames: Vec<i64> = record.frames.iter().map(|frame| id(frame.0)).collect();
        self.add_trace(out, record.serial.0.into(), thread, &frames)
    }

    /// Formats a stack on one line, outermost frame first. If it would be longer than [`LONGEST_STACK`], the innermost
    /// frames are omitted.
    fn stack(&self, frames: &[i64]) -> String {
        let mut stack = String::new();
        for (place, frame) in frames.iter().rev().enumerate() {
            if place > 0 {
                stack.push(';');
            }
            if stack.len() > LONGEST_STACK {
                // Writing to a string cannot fail.
                let _ = write!(stack, "<{} more frames>", frames.len() - place);
                break;
            }
            stack.push_str(self.frames.get(frame).map_or(UNKNOWN_NAME, |name| name));
        }
        if frames.is_empty() {
            EMPTY.clone_into(&mut stack);
        }
        stack
    }

    fn add_trace(
        &mut self,
        out: &mut Output,
        trace: i64,
        thread: Option<i64>,
        frames: &[i64],
    ) -> Result<(), Error> {
        if !self.traces.insert(trace) {
            return Ok(());
        }
        let stack = self.stack(frames);
        let host = self.merged_host.as_deref().or(self.host.as_deref());
        out.trace.row(|row| {
            row.long(trace)
                .long(thread)
                .int(i32::try_from(frames.len()).unwrap_or(i32::MAX))
                .text(&*stack)
                .long(hash::of_text(&stack))
                .long(frames.first().copied())
                .text(host)
                .text(self.merged_file.as_deref());
        })?;
        for (position, &frame) in (0..).zip(frames) {
            out.trace_frame.row(|row| {
                row.long(trace).int(position).long(frame);
            })?;
        }
        Ok(())
    }

    /// Returns the trace of a serial number, adding a row if it has none.
    pub(crate) fn trace_id(&mut self, out: &mut Output, serial: TraceSerial) -> Result<i64, Error> {
        let trace = serial.0.into();
        if !self.traces.contains(&trace) {
            let frame = self.marker(out, UNKNOWN_NAME)?;
            self.add_trace(out, trace, None, &[frame])?;
        }
        Ok(trace)
    }

    /// Adds a trace that the file does not have.
    pub(crate) fn new_trace(&mut self, out: &mut Output, frames: &[i64]) -> Result<i64, Error> {
        let trace = MADE_UP + self.made_up;
        self.made_up += 1;
        self.add_trace(out, trace, None, frames)?;
        Ok(trace)
    }

    /// Adds a frame that is not a method's.
    pub(crate) fn marker(&mut self, out: &mut Output, name: &str) -> Result<i64, Error> {
        let frame = MADE_UP_FRAMES + self.made_up_frames;
        self.made_up_frames += 1;
        out.frame.row(|row| {
            let none: Option<&str> = None;
            row.long(frame)
                .long(None)
                .text("")
                .text(name)
                .text(none)
                .text(none)
                .int(None)
                .text("marker");
        })?;
        self.frames.insert(frame, name.into());
        Ok(frame)
    }

    /// Returns the thread of a serial number; `None` if the file does not define it.
    pub(crate) fn thread_id(&mut self, thread: ThreadSerial) -> Option<i64> {
        if !thread.is_started() {
            return None;
        }
        self.named_threads.insert(thread.0);
        Some(thread.0.into())
    }

    /// Adds a thread that no record describes, unless it exists.
    pub(crate) fn unnamed_thread(&mut self, serial: ThreadSerial, object: ObjectId) {
        self.thread(&StartThreadRecord {
            serial,
            object,
            trace: TraceSerial(0),
            name: StringId(0),
            group: StringId(0),
            parent_group: StringId(0),
        });
    }

    fn thread(&mut self, record: &StartThreadRecord) {
        let names = [record.name, record.group, record.parent_group];
        if self.threads.insert(record.serial.0) {
            let [name, group, parent_group] =
                names.map(|name| self.string(name).map(str::to_owned));
            let thread = NamedThread {
                name,
                last_name: None,
                group,
                parent_group,
                object: (record.object.0 != 0).then(|| id(record.object.0)),
                trace: (record.trace.0 != 0).then_some(record.trace.0.into()),
            };
            self.alive.insert(record.serial.0, thread);
        }
        for name in names {
            self.table.forget_used(name);
        }
    }

    /// Takes the new name of a thread.
    pub(crate) fn renamed(&mut self, thread: ThreadSerial, name: &str) {
        if let Some(thread) = self.alive.get_mut(&thread.0) {
            thread.last_name = Some(shortened(name).into());
        }
    }
}

impl NamedThread {
    fn write(self, serial: u32, out: &mut TableFile) -> Result<(), Error> {
        let pool = self.name.as_deref().map(pool);
        let last_name = self
            .last_name
            .filter(|last| Some(last) != self.name.as_ref());
        out.row(|row| {
            row.long(i64::from(serial))
                .text(self.name.as_deref())
                .text(pool.as_deref())
                .text(self.group.as_deref())
                .text(self.parent_group.as_deref())
                .long(self.object)
                .long(self.trace)
                .text(last_name.as_deref());
        })?;
        Ok(())
    }
}

impl NamedClass {
    /// Creates a class; `name` is as in Java source.
    pub(crate) fn named(id: i64, name: &str) -> NamedClass {
        NamedClass {
            id,
            name: stable_class(name).into_owned(),
            full_name: name.to_owned(),
            trace: None,
            object: None,
            super_class: None,
            loader: None,
            instance_bytes: None,
        }
    }
}

/// Returns the common name of a pool's threads: each number becomes `#`.
fn pool(name: &str) -> String {
    let mut pool = String::with_capacity(name.len());
    let mut in_number = false;
    for character in name.chars() {
        let digit = character.is_ascii_digit();
        if !digit {
            pool.push(character);
        } else if !in_number {
            pool.push('#');
        }
        in_number = digit;
    }
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_pool_have_one_name_in_common() {
        for (name, common) in [
            ("http-nio-8080-exec-7", "http-nio-#-exec-#"),
            ("http-nio-8080-exec-12", "http-nio-#-exec-#"),
            ("main", "main"),
            ("42", "#"),
            ("", ""),
        ] {
            assert_eq!(pool(name), common);
        }
    }
}
