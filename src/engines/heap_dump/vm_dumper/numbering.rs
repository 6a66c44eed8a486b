//! Maps the VM's numbers of threads, traces and classes to the agent's.

use hprof_format::ObjectId;
use memory::{List, Map, OrStop};

use super::first_pass::{DumpedFrame, FirstPass};
use crate::engines::heap_dump::DumpOutput;
use names::Tables;
use names::class::{ClassId, name_of_signature};
use names::frame::{self, FrameId, Line};
use names::thread::ThreadSerial;
use names::trace::{TraceId, TraceKey};

/// The objects that the agent knows, by id.
#[derive(Default)]
pub(super) struct KnownIds {
    /// `java.lang.Class` objects.
    pub(super) classes: Map<u64, ClassId>,
    /// Thread objects.
    pub(super) threads: Map<u64, ThreadSerial>,
}

/// The agent's numbers for the VM's.
#[derive(Default)]
pub(super) struct Numbering {
    /// Serial numbers of threads.
    pub(super) threads: Map<u32, u32>,
    /// Serial numbers of traces.
    pub(super) traces: Map<u32, u32>,
}

impl Numbering {
    /// Numbers everything, and writes the records that define the numbers.
    pub(super) fn new(
        tables: &Tables,
        line_numbers: bool,
        first_pass: &FirstPass,
        known: &KnownIds,
        output: &mut dyn DumpOutput,
    ) -> Self {
        let mut naming = RecordNaming {
            tables,
            line_numbers,
            first_pass,
            known,
            unlisted: Map::default(),
        };
        for &serial in first_pass.classes.keys() {
            let class = naming.class(serial);
            output.class(class, ObjectId(first_pass.classes[&serial].object));
        }
        let mut numbering = Self::default();
        for thread in &first_pass.threads {
            let serial = match known.threads.get(&thread.object) {
                Some(&serial) => serial,
                None => output.virtual_thread(""),
            };
            numbering.threads.insert(thread.serial, serial.0).or_stop();
            let trace = naming.trace(serial, thread.trace);
            let number = output.trace(trace).0;
            numbering.traces.insert(thread.trace, number).or_stop();
        }
        numbering
    }
}

struct RecordNaming<'a> {
    tables: &'a Tables,
    line_numbers: bool,
    first_pass: &'a FirstPass,
    known: &'a KnownIds,
    /// Classes that were loaded after the list was made, by serial number.
    unlisted: Map<u32, ClassId>,
}

impl RecordNaming<'_> {
    /// Returns the trace for a thread; empty for the agent's own threads, whose stacks are of no interest.
    fn trace(&mut self, thread: ThreadSerial, serial: u32) -> TraceId {
        let first_pass = self.first_pass;
        let frames = first_pass
            .traces
            .get(&serial)
            .filter(|frames| !frames.is_empty());
        let Some(frames) = frames.filter(|_| thread != ThreadSerial::UNKNOWN) else {
            return TraceId::EMPTY;
        };
        let frames = frames
            .iter()
            .filter_map(|id| first_pass.frames.get(id))
            .map(|frame| self.frame(frame));
        let frames = List::collect(frames).or_stop();
        self.tables.traces.intern(TraceKey {
            thread: Some(thread),
            frames: &frames,
        })
    }

    fn frame(&mut self, frame: &DumpedFrame) -> FrameId {
        let class = self.class(frame.class);
        let names = &self.first_pass.names;
        let string = |id| self.tables.strings.intern(&names.get(id));
        let method = frame::Method {
            class,
            name: string(frame.method),
            signature: string(frame.signature),
            source_file: (frame.source_file != 0).then(|| string(frame.source_file)),
        };
        let line = match frame.line {
            _ if !self.line_numbers => Line::Unknown,
            line @ 1.. => Line::Number(line.cast_unsigned()),
            -3 => Line::Native,
            _ => Line::Unknown,
        };
        self.tables.frames.intern(frame::Frame { method, line })
    }

    fn class(&mut self, serial: u32) -> ClassId {
        let class = self.first_pass.classes.get(&serial);
        let known = class.and_then(|class| self.known.classes.get(&class.object));
        if let Some(&id) = known {
            return id;
        }
        let name = class.map_or(String::new(), |class| self.first_pass.names.get(class.name));
        let tables = self.tables;
        let id = self.unlisted.get_or_insert_with(serial, || {
            // Its loader is unknown, so it becomes a class of its own.
            let name = tables.strings.intern(&name_of_internal(&name));
            let object = || tables.objects.add();
            tables
                .classes
                .intern(tables.loaders.add(), name, object)
                .id()
        });
        *id.or_stop()
    }
}

/// Turns `java/lang/String` into `java.lang.String`, and `[I` into `int[]`.
fn name_of_internal(name: &str) -> String {
    match name.starts_with('[') {
        true => name_of_signature(name),
        false => name.replace('/', "."),
    }
}
