//! The walk itself: turns the VM's reports about each object into its record.

use fixedbitset::FixedBitSet;
use hprof_format::{HeapRecord, ObjectId};

use super::chunk_writer::{ChunkWriter, big_endian, write_at, write_bits};
use super::classes::{ClassKind, DumpClasses};
use super::late_classes::{LateClasses, UndescribedObject};
use super::layout::{RecordLayout, basic_type};
use super::numbers::{Numbers, Tag};
use super::roots::Roots;
use jvmti::{
    HeapVisitor, Primitive, PrimitiveField, Referee, Reference, Referrer, RootReference, Visit,
};
use memory::{List, OrStop, Set};

/// The most bytes of an array's elements: a segment's length has four bytes.
const MOST_BYTES: usize = u32::MAX as usize - 64;

/// Turns the walk's reports into records.
pub(super) struct Recorder<'r, 'o> {
    pub(super) numbers: &'r mut Numbers,
    pub(super) classes: &'r DumpClasses,
    pub(super) chunks: &'r mut ChunkWriter<'o>,
    pub(super) roots: Roots<'r>,
    current: Current<'r>,
    /// The values of the current object's fields or elements.
    content: List<u8>,
    /// Objects of classes that were not known when the walk began.
    pub(super) late_classes: Vec<UndescribedObject>,
    /// `java.lang.Class` objects that were not known.
    pub(super) strange_classes: Vec<Tag>,
    /// Those of them that were tracked, and so had tags before they were met.
    tracked_strange_classes: Set<u64>,
    /// The number of the class `java.lang.Class`.
    class_of_classes: Option<u64>,
    /// Objects that a global reference of the agent holds.
    held: FixedBitSet,
    pub(super) failure: Option<&'static str>,
    /// The last number before the walk.
    numbered_before: u64,
    /// The objects that the walk has met first and not visited, except classes.
    pub(super) unvisited: u64,
}

/// The object that the VM is reporting.
struct Current<'r> {
    tag: Tag,
    shape: Shape<'r>,
}

#[derive(Clone, Copy)]
enum Shape<'r> {
    /// An object that does not become a record now.
    None,
    Instance {
        class: ObjectId,
        layout: &'r RecordLayout,
    },
    ObjectArray {
        class: ObjectId,
    },
    PrimitiveArray(Primitive),
    UndescribedObject,
}

impl<'r, 'o> Recorder<'r, 'o> {
    pub(super) fn new(
        numbers: &'r mut Numbers,
        classes: &'r DumpClasses,
        chunks: &'r mut ChunkWriter<'o>,
        roots: Roots<'r>,
        held: FixedBitSet,
    ) -> Self {
        let numbered_before = numbers.last();
        let class_of_classes = classes.class.map(|place| classes.get(place).tag.number());
        Self {
            numbers,
            classes,
            chunks,
            roots,
            current: Current {
                tag: Tag::NONE,
                shape: Shape::None,
            },
            content: List::new(),
            late_classes: Vec::new(),
            strange_classes: Vec::new(),
            tracked_strange_classes: Set::default(),
            class_of_classes,
            held,
            failure: None,
            numbered_before,
            unvisited: 0,
        }
    }

    /// Writes the last object's record, and the roots in stacks.
    pub(super) fn finish(&mut self) {
        self.end();
        for (object, root) in self.roots.in_stacks() {
            self.chunks.put(&HeapRecord::Root { object, root });
        }
    }

    /// Returns what could not be described, and the reason for which the walk has ended early.
    pub(super) fn into_late_classes(self) -> (LateClasses, Option<&'static str>) {
        let late_classes = LateClasses {
            objects: self.late_classes,
            classes: self.strange_classes,
        };
        (late_classes, self.failure)
    }

    /// Begins the object that the VM reports from now on.
    fn turn_to(&mut self, object: Referrer) {
        let tag = Tag(object.tag);
        if tag.number() == self.current.tag.number() {
            return;
        }
        self.end();
        if tag.number() > self.numbered_before
            && Some(Tag(object.class).number()) != self.class_of_classes
        {
            self.unvisited -= 1;
        }
        memory::stop_if_out();
        let shape = self.shape(tag, Tag(object.class));
        self.content.clear();
        match shape {
            Shape::Instance { layout, .. } => {
                self.content.resize(layout.size as usize, 0).or_stop();
            }
            Shape::ObjectArray { .. } => {
                let bytes = (tag.length() as usize * 8).min(MOST_BYTES / 8 * 8);
                self.content.resize(bytes, 0).or_stop();
            }
            _ => {}
        }
        self.current = Current { tag, shape };
    }

    fn shape(&mut self, tag: Tag, class: Tag) -> Shape<'r> {
        let place = self.classes.place(self.numbers, class);
        // Classes have been described already.
        if place.is_some() && place == self.classes.class {
            return Shape::None;
        }
        let Some(place) = place else {
            return self.undescribed_object(tag);
        };
        let classes: &'r DumpClasses = self.classes;
        let id = self.numbers.object(class);
        match &classes.get(place).kind {
            ClassKind::Instances(layout) => Shape::Instance { class: id, layout },
            ClassKind::ObjectArrays => Shape::ObjectArray { class: id },
            ClassKind::PrimitiveArrays(kind) => Shape::PrimitiveArray(*kind),
            ClassKind::Unknown(_) => self.undescribed_object(tag),
        }
    }

    fn undescribed_object(&mut self, tag: Tag) -> Shape<'r> {
        self.late_classes.push(UndescribedObject {
            tag,
            class: Tag::NONE,
            values: Vec::new(),
        });
        Shape::UndescribedObject
    }

    /// Finishes the current object.
    fn end(&mut self) {
        let tag = self.current.tag;
        let (object, trace) = (self.numbers.object(tag), self.numbers.trace(tag));
        let record = match self.current.shape {
            Shape::None | Shape::UndescribedObject => return,
            Shape::Instance { class, .. } => HeapRecord::Instance {
                object,
                trace,
                class,
                fields: &self.content,
            },
            Shape::ObjectArray { class } => HeapRecord::ObjectArray {
                object,
                trace,
                class,
                elements: &self.content,
            },
            Shape::PrimitiveArray(kind) => HeapRecord::PrimitiveArray {
                object,
                trace,
                element: basic_type(Some(kind)),
                elements: &self.content,
            },
        };
        self.chunks.put(&record);
        self.current.shape = Shape::None;
        self.content.shrink_to(1 << 20);
    }

    /// Assigns a number to a referenced object, and notes its length.
    fn meet(&mut self, referee: &mut Referee<'_>) -> Option<Tag> {
        let mut tag = Tag(*referee.tag);
        let length = referee.length.unwrap_or(0);
        if tag == Tag::NONE {
            tag = self.numbers.add(length)?;
            *referee.tag = tag.0;
            match self.is_class(referee) {
                true => self.strange_classes.push(tag),
                false => self.unvisited += 1,
            }
        } else if tag.length() != length {
            // It was tagged before the walk.
            tag = Tag::new(tag.number(), length);
            *referee.tag = tag.0;
        } else if self.is_class(referee)
            && self.numbers.is_tracked(tag)
            && self.tracked_strange_classes.insert(tag.number()).or_stop()
        {
            // A known class has the tag of one. The VM holds objects of others: it replaces some classes while they
            // load, and keeps the first version for a while.
            self.strange_classes.push(tag);
        }
        Some(tag)
    }

    /// Returns `true` if the object is a `java.lang.Class`.
    fn is_class(&self, referee: &Referee<'_>) -> bool {
        Some(Tag(referee.class).number()) == self.class_of_classes
    }

    fn go_on(&self) -> Visit {
        match self.chunks.has_failed() {
            false => Visit::Follow,
            true => Visit::Stop,
        }
    }

    fn fail(&mut self, failure: &'static str) -> Visit {
        self.failure = Some(failure);
        Visit::Stop
    }
}

const TOO_MANY: &str = "more than 8589934591 objects";
const UNKNOWN_FIELD: &str = "an object with a field that its class does not have";

impl HeapVisitor for Recorder<'_, '_> {
    fn root(&mut self, root: RootReference, mut referee: Referee<'_>) -> Visit {
        let class = Tag(referee.class);
        let Some(tag) = self.meet(&mut referee) else {
            return self.fail(TOO_MANY);
        };
        if root == RootReference::JniGlobal && self.held.contains(tag.index()) {
            // One global reference is the agent's; it does not matter which of several is skipped.
            self.held.remove(tag.index());
            return self.go_on();
        }
        let place = self.classes.place(self.numbers, class);
        let is_virtual_thread = place.is_some_and(|place| self.classes.is_virtual_thread(place));
        let is_class = self.classes.place(self.numbers, tag).is_some();
        let output = &mut *self.chunks.output;
        if let Some(root) =
            self.roots
                .describe(self.numbers, output, root, tag, is_class, is_virtual_thread)
        {
            let object = self.numbers.object(tag);
            self.chunks.put(&HeapRecord::Root { object, root });
        }
        self.go_on()
    }

    fn reference(
        &mut self,
        referrer: Referrer,
        reference: Reference,
        mut referee: Referee<'_>,
    ) -> Visit {
        self.turn_to(referrer);
        let Some(tag) = self.meet(&mut referee) else {
            return self.fail(TOO_MANY);
        };
        match (self.current.shape, reference) {
            (Shape::Instance { layout, .. }, Reference::Field(number)) => {
                match layout.slot(number) {
                    Some(slot) if slot.kind.is_none() => {
                        let id = self.numbers.object(tag).0.to_be_bytes();
                        write_at(&mut self.content, slot.offset, &id);
                    }
                    _ => return self.fail(UNKNOWN_FIELD),
                }
            }
            (Shape::ObjectArray { .. }, Reference::Element(index)) => {
                let id = self.numbers.object(tag).0.to_be_bytes();
                let start = index as usize * 8;
                if let Some(place) = self.content.get_mut(start..start + 8) {
                    place.copy_from_slice(&id);
                }
            }
            (Shape::UndescribedObject, reference) => {
                let id = self.numbers.object(tag).0;
                if let Some(undescribed_object) = self.late_classes.last_mut() {
                    match reference {
                        Reference::Class => undescribed_object.class = tag,
                        Reference::Field(number) | Reference::Element(number) => {
                            undescribed_object.values.push((number, id));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        self.go_on()
    }

    fn primitive_field(&mut self, field: PrimitiveField) -> Visit {
        if field.is_static {
            return Visit::Pass;
        }
        self.turn_to(field.holder);
        match self.current.shape {
            Shape::Instance { layout, .. } => match layout.slot(field.index) {
                Some(slot) if slot.kind == Some(field.kind) => {
                    write_bits(&mut self.content, slot.offset, field.kind, field.bits);
                    Visit::Pass
                }
                _ => self.fail(UNKNOWN_FIELD),
            },
            Shape::UndescribedObject => {
                if let Some(undescribed_object) = self.late_classes.last_mut() {
                    undescribed_object.values.push((field.index, field.bits));
                }
                Visit::Pass
            }
            _ => Visit::Pass,
        }
    }

    fn primitive_array(&mut self, array: Referrer, kind: Primitive, elements: &[u8]) -> Visit {
        self.turn_to(array);
        if matches!(self.current.shape, Shape::PrimitiveArray(known) if known == kind) {
            let bytes = elements.len().min(MOST_BYTES / 8 * 8);
            big_endian(&elements[..bytes], kind, &mut self.content);
        }
        Visit::Pass
    }
}
