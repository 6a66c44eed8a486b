//! Assigns ids to names in the text, and creates the records that define them: the opposite of a
//! [`NameTable`](crate::NameTable), which finds the names of ids.

use foldhash::HashMap;

use crate::bytes::saturated;
use crate::record::{ClassSerial, FrameId, ObjectId, StringId, TraceSerial};
use crate::record::{FrameRecord, Line, LoadClassRecord, Record, StringRecord};

/// The trace of a class whose loading stack is unknown.
const SYSTEM_TRACE: TraceSerial = TraceSerial(300_000);
/// The first serial numbers and ids, as the agent's.
const FIRST_CLASS: u32 = 100_001;
const FIRST_FRAME: u64 = 500_000;
/// The id of a frame that the writer did not know.
pub(super) const UNKNOWN_FRAME: FrameId = FrameId(u64::MAX);

/// A method and a position in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeLocation<'a> {
    pub(super) class: &'a str,
    pub(super) method: &'a str,
    /// Empty if unknown.
    pub(super) signature: &'a str,
    /// Empty if unknown.
    pub(super) source_file: &'a str,
    pub(super) line: Line,
}

/// Assigns the same id to the same name, and creates the record for it the first time.
#[derive(Debug, Default)]
pub(super) struct AssignedIds {
    strings: HashMap<Box<str>, StringId>,
    classes: HashMap<StringId, ClassSerial>,
    frames: HashMap<Box<str>, FrameId>,
    /// The number of names of threads so far.
    used_once: u64,
    records: Vec<Record<'static>>,
}

impl AssignedIds {
    /// Takes the records created since the last call.
    pub(super) fn take(&mut self) -> Vec<Record<'static>> {
        std::mem::take(&mut self.records)
    }

    pub(super) fn string(&mut self, text: &str) -> StringId {
        if text.is_empty() {
            return StringId(0);
        }
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = StringId(self.strings.len() as u64 + 1);
        self.strings.insert(text.into(), id);
        self.announce(id, text);
        id
    }

    /// Returns a string that no other record names.
    pub(super) fn string_once(&mut self, text: &str) -> StringId {
        let id = StringId(StringId::USED_ONCE + self.used_once);
        self.used_once += 1;
        self.announce(id, text);
        id
    }

    fn announce(&mut self, id: StringId, text: &str) {
        self.records.push(Record::String(StringRecord {
            id,
            text: text.as_bytes().to_vec().into(),
        }));
    }

    pub(super) fn class(&mut self, name: &str) -> ClassSerial {
        let name = self.string(name);
        if let Some(&serial) = self.classes.get(&name) {
            return serial;
        }
        let serial = ClassSerial(FIRST_CLASS.saturating_add(saturated(self.classes.len())));
        self.classes.insert(name, serial);
        self.records.push(Record::LoadClass(LoadClassRecord {
            serial,
            class_object: ObjectId(0),
            trace: SYSTEM_TRACE,
            name,
        }));
        serial
    }

    /// Returns the frame of a text that is known.
    pub(super) fn known_frame(&self, text: &str) -> Option<FrameId> {
        self.frames.get(text).copied()
    }

    /// Returns the frame that `text` stands for, which is not known yet.
    pub(super) fn frame(&mut self, text: &str, place: CodeLocation<'_>) -> FrameId {
        let class = self.class(place.class);
        let method = self.string(place.method);
        let signature = self.string(place.signature);
        let source_file = self.string(place.source_file);
        let id = FrameId(FIRST_FRAME + self.frames.len() as u64);
        self.frames.insert(text.into(), id);
        self.records.push(Record::Frame(FrameRecord {
            id,
            method,
            signature,
            source_file,
            class,
            line: place.line,
        }));
        id
    }
}
