//! The fields of instances: references stay, numbers become 0, except for those that tell how collections are built.

use std::ops::Range;

use crate::bytes::{in_memory, read_id_be};
use crate::heap::ClassDump;
use crate::heap_layout::{ClassIndex, DumpedClasses, class_of};
use crate::id_size::IdSize;
use crate::record::{BasicType, ObjectId, StringId};

/// The packages of the JDK, in whose classes the numbers below are known to be no content.
const JDK: [&str; 4] = ["java.", "javax.", "jdk.", "sun."];

/// The numbers that stay, by the name of their field in a class of the JDK: how full collections and buffers are, how a
/// string's bytes are to be read, and the state of threads. Hash codes do not stay: a short text can be found from its own.
pub const KEPT_FIELDS: [&str; 18] = [
    "size",
    "count",
    "elementCount",
    "baseCount",
    "coder",
    "offset",
    "head",
    "tail",
    "takeIndex",
    "putIndex",
    "capacity",
    "limit",
    "position",
    "daemon",
    "priority",
    "threadStatus",
    "tid",
    "loadFactor",
];

/// Returns `true` if the number of a field stays.
pub(super) fn is_kept(class: Option<&str>, field: &str) -> bool {
    is_of_jdk(class) && KEPT_FIELDS.contains(&field)
}

/// Returns `true` if a class with this name, as in Java source, is one of the JDK or an array of those.
pub(super) fn is_of_jdk(class: Option<&str>) -> bool {
    class.is_some_and(|class| {
        JDK.iter().any(|package| class.starts_with(package))
            || BasicType::of_java_name(class.trim_end_matches("[]")).is_some()
    })
}

/// The layouts of the classes of one dump.
#[derive(Debug)]
pub(super) struct Layouts {
    id_size: IdSize,
    classes: DumpedClasses,
    /// By class, the numbers that stay: their places relative to the class's own fields, in ascending order.
    kept: Vec<Box<[Range<usize>]>>,
}

/// The parts of an instance that stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstanceLayout(ClassIndex);

/// A reference that a class declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    class: ClassIndex,
    /// Its offset among the fields that the class itself declares.
    at: usize,
}

impl Layouts {
    pub(super) fn new(id_size: IdSize) -> Layouts {
        Layouts {
            id_size,
            classes: DumpedClasses::default(),
            kept: Vec::new(),
        }
    }

    /// Learns a class; `is_kept` decides about the numbers that it declares.
    pub(super) fn add(&mut self, class: &ClassDump<'_>, mut is_kept: impl FnMut(StringId) -> bool) {
        let mut kept = Vec::new();
        let mut at = 0;
        for &(name, kind) in class.fields.iter() {
            let next = at + kind.size(self.id_size.width());
            if kind != BasicType::Object && is_kept(name) {
                kept.push(at..next);
            }
            at = next;
        }
        self.classes.add(0, class, self.id_size);
        self.kept.push(kept.into());
    }

    /// Returns the layout of an instance with so many bytes of fields; `None` if its class, or one above, is not known
    /// so far, or has other fields.
    pub(super) fn find(&mut self, class: ObjectId, length: u64) -> Option<InstanceLayout> {
        class_of(&mut self.classes, class, length).map(InstanceLayout)
    }

    /// Returns the first field that a known class declares and `is_wanted` accepts by its name and type.
    pub(super) fn member(
        &mut self,
        class: &ClassDump<'_>,
        is_wanted: impl Fn(StringId, BasicType) -> bool,
    ) -> Option<Member> {
        let class_index = self.classes.find(class.class)?;
        let mut at = 0;
        for &(name, kind) in class.fields.iter() {
            if is_wanted(name, kind) {
                return Some(Member {
                    class: class_index,
                    at,
                });
            }
            at += kind.size(self.id_size.width());
        }
        None
    }

    /// Returns the object that an instance refers to by a field; `None` for null, and for instances that have no such field.
    pub(super) fn reference(
        &mut self,
        class: ObjectId,
        fields: &[u8],
        member: Member,
    ) -> Option<ObjectId> {
        let class = class_of(&mut self.classes, class, fields.len() as u64)?;
        let mut chain = self.classes.chain(class);
        let declared = chain.find(|declared| declared.class == member.class)?;
        let id = read_id_be(fields, declared.base + member.at, self.id_size);
        (id != 0).then_some(ObjectId(id))
    }

    /// Sets to 0 what does not stay in `piece`, the bytes from `start` on of an instance's fields.
    pub(super) fn clear(
        &self,
        InstanceLayout(class): InstanceLayout,
        start: u64,
        piece: &mut [u8],
        original: &[u8],
    ) {
        piece.fill(0);
        let start = in_memory(start);
        let end = start + piece.len();
        let width = self.id_size.width();
        for declared in self.classes.chain(class) {
            if declared.base >= end {
                continue;
            }
            let mut keep = |range: Range<usize>| {
                let from = (declared.base + range.start).max(start) - start;
                let to = (declared.base + range.end).clamp(start, end) - start;
                if let (Some(to), Some(from)) = (piece.get_mut(from..to), original.get(from..to)) {
                    to.copy_from_slice(from);
                }
            };
            let references = declared.references;
            let first =
                references.partition_point(|&at| declared.base + at as usize + width <= start);
            for &at in &references[first..] {
                if declared.base + at as usize >= end {
                    break;
                }
                keep(at as usize..at as usize + width);
            }
            for range in &self.kept[declared.class.number()] {
                keep(range.clone());
            }
        }
    }
}
