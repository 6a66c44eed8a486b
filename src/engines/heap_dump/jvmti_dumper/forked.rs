//! `dumper=fork`: the walk in a forked child. The child sends its records to the program's own dump, so only what the walk
//! itself needs happens in the child: the program's thread that dumps writes them like those of any other dumper, and
//! asks the VM what can be asked only afterwards.

use std::io;
use std::time::Duration;

use hprof_format::{HeapTotals, ObjectBirth, ObjectId, ObjectLayout, StringId, TraceSerial};

use super::late_classes::{LateClasses, UndescribedObject};
use super::numbers::Tag;
use super::recorder::Recorder;
use crate::engines::heap_dump::room::Room;
use crate::engines::heap_dump::{DumpError, DumpOutput};
use jvmti::{Child, ChildLink, ChildMessage, ForkedVisitor, NoChild};
use names::class::ClassId;
use names::thread::ThreadSerial;
use names::trace::TraceId;

/// The output of a dump that may be in a child, where it is the connection to the program.
pub(super) struct ForkedOutput<'o> {
    output: &'o mut dyn DumpOutput,
    link: Option<&'o ChildLink>,
}

impl<'o> ForkedOutput<'o> {
    pub(super) fn new(output: &'o mut dyn DumpOutput, link: Option<&'o ChildLink>) -> Self {
        Self { output, link }
    }

    /// Returns the connection, in the child.
    fn link(&self) -> Option<&'o ChildLink> {
        self.link.filter(|link| link.is_child())
    }
}

impl DumpOutput for ForkedOutput<'_> {
    fn class(&mut self, class: ClassId, object: ObjectId) {
        self.output.class(class, object);
    }

    fn string(&mut self, text: &str) -> StringId {
        self.output.string(text)
    }

    fn trace(&mut self, trace: TraceId) -> TraceSerial {
        self.output.trace(trace)
    }

    fn virtual_thread(&mut self, name: &str) -> ThreadSerial {
        match self.link() {
            Some(link) => link
                .ask(name.as_bytes())
                .map_or(ThreadSerial::UNKNOWN, ThreadSerial),
            None => self.output.virtual_thread(name),
        }
    }

    fn layout(&mut self, layout: ObjectLayout) {
        self.output.layout(layout);
    }

    fn totals(&mut self, objects: u64, bytes: u64) {
        self.output.totals(objects, bytes);
    }

    fn all_is_named(&mut self) {
        self.output.all_is_named();
    }

    fn begin_again(&mut self) {
        self.output.begin_again();
    }

    fn births(&mut self, next: u32) {
        self.output.births(next);
    }

    fn born(&mut self, birth: ObjectBirth) {
        self.output.born(birth);
    }

    fn records(&mut self, content: &[u8]) -> bool {
        match self.link() {
            Some(link) => link.send_content(content),
            None => self.output.records(content),
        }
    }
}

/// The outcome of a child's walk, without its records.
pub(super) struct Walked {
    /// The totals of all records so far, those from before the fork among them.
    pub(super) totals: HeapTotals,
    pub(super) late_classes: LateClasses,
}

/// Writes the records of a child as they come; returns what it found, once it has finished.
pub(super) fn receive(
    mut child: Child<'_>,
    link: &ChildLink,
    room: &Room,
    output: &mut dyn DumpOutput,
) -> Result<Walked, DumpError> {
    let check = || room.is_left();
    loop {
        match child.receive(&check).map_err(DumpError::of_child)? {
            ChildMessage::Content(content) => {
                if !output.records(&content) {
                    return Err(DumpError::Output);
                }
            }
            ChildMessage::Question(name) => {
                let name = String::from_utf8_lossy(&name);
                let serial = output.virtual_thread(&name);
                link.answer(serial.0).map_err(DumpError::Child)?;
            }
            ChildMessage::Last(message) => return Walked::read(&message),
        }
    }
}

impl ForkedVisitor for Recorder<'_, '_> {
    fn finish(&mut self) -> Vec<u8> {
        Recorder::finish(self);
        self.chunks.flush();
        let mut message = Message::default();
        let totals = self.chunks.totals();
        message.number(totals.objects);
        message.number(totals.bytes);
        let unvisited = match self.unvisited {
            0 => None,
            _ => Some("an object that the child did not visit"),
        };
        let failure = self.failure.or(unvisited).unwrap_or_default();
        message.bytes(failure.as_bytes());
        message.number(self.strange_classes.len() as u64);
        for class in &self.strange_classes {
            message.number(class.0);
        }
        message.number(self.late_classes.len() as u64);
        for object in &self.late_classes {
            message.number(object.tag.0);
            message.number(object.class.0);
            message.number(object.values.len() as u64);
            for &(number, bits) in &object.values {
                message.number(number.into());
                message.number(bits);
            }
        }
        message.0
    }
}

impl Walked {
    fn read(message: &[u8]) -> Result<Self, DumpError> {
        let cut = || DumpError::Walk("a last message that is cut");
        let mut message = Reader(message);
        let totals = HeapTotals {
            objects: message.number().ok_or_else(cut)?,
            bytes: message.number().ok_or_else(cut)?,
        };
        let failure = message.bytes().ok_or_else(cut)?;
        if !failure.is_empty() {
            let failure = String::from_utf8_lossy(failure);
            return Err(DumpError::InChild(failure.into_owned()));
        }
        let late_classes = message.late_classes().ok_or_else(cut)?;
        Ok(Self {
            totals,
            late_classes,
        })
    }
}

/// Numbers and bytes for the program, which is of the same architecture.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, number: u64) {
        memory::stop_if_out();
        self.0.extend(number.to_ne_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

struct Reader<'m>(&'m [u8]);

impl<'m> Reader<'m> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*number))
    }

    fn bytes(&mut self) -> Option<&'m [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn late_classes(&mut self) -> Option<LateClasses> {
        let mut late = LateClasses {
            objects: Vec::new(),
            classes: Vec::new(),
        };
        for _ in 0..self.number()? {
            late.classes.push(Tag(self.number()?));
        }
        for _ in 0..self.number()? {
            let (tag, class) = (Tag(self.number()?), Tag(self.number()?));
            let mut values = Vec::new();
            for _ in 0..self.number()? {
                values.push((u32::try_from(self.number()?).ok()?, self.number()?));
            }
            late.objects.push(UndescribedObject { tag, class, values });
        }
        Some(late)
    }
}

impl From<NoChild> for DumpError {
    fn from(error: NoChild) -> Self {
        match error {
            NoChild::OtherThread => Self::unsettled("threads came and went"),
            NoChild::OtherClasses => Self::unsettled("classes were loaded meanwhile"),
            error => Self::NoFork(error.to_string()),
        }
    }
}

impl DumpError {
    fn of_child(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Deadlock => Self::unsettled("a lock of the VM was held"),
            _ => Self::Child(error),
        }
    }

    fn unsettled(what: &'static str) -> Self {
        let pause = Duration::ZERO;
        Self::Unsettled { what, pause }
    }

    /// Notes how long the program stood still before another attempt may succeed.
    pub(super) fn after(self, pause: Duration) -> Self {
        match self {
            Self::Unsettled { what, .. } => Self::Unsettled { what, pause },
            Self::Changed { what, .. } => Self::Changed { what, pause },
            error => error,
        }
    }
}
