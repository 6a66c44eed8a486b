//! Removing the tags after a walk in a child. The program's own objects have few: those of classes, of what the records of
//! classes name, of threads, and of tracked objects. A pass over the heap would stop the program for longer than the fork.

use super::numbers::{Numbers, Special, Tag};
use jvmti::{
    HeapVisitor, Primitive, PrimitiveField, Referee, Reference, Referrer, RootReference, Visit,
};

/// A walk that removes the tags of what roots and classes refer to, except those of classes, by which it finds its way.
pub(super) struct TagRemoval<'s> {
    pub(super) numbers: &'s Numbers,
}

impl TagRemoval<'_> {
    fn is_class(&self, tag: Tag) -> bool {
        matches!(self.numbers.special(tag), Some(Special::DumpClass(_)))
    }
}

impl HeapVisitor for TagRemoval<'_> {
    fn root(&mut self, _: RootReference, referee: Referee<'_>) -> Visit {
        if self.is_class(Tag(*referee.tag)) {
            return Visit::Follow;
        }
        *referee.tag = Tag::NONE.0;
        Visit::Pass
    }

    fn reference(&mut self, _: Referrer, _: Reference, referee: Referee<'_>) -> Visit {
        if !self.is_class(Tag(*referee.tag)) {
            *referee.tag = Tag::NONE.0;
        }
        Visit::Pass
    }

    fn primitive_field(&mut self, _: PrimitiveField) -> Visit {
        Visit::Pass
    }

    fn primitive_array(&mut self, _: Referrer, _: Primitive, _: &[u8]) -> Visit {
        Visit::Pass
    }
}
