//! Facts about classes that only a heap walk reveals: the objects in the constant pool, the signers, the protection
//! domain. The sizes of the arrays that it meets on the way tell the layout of objects.

use super::array_sizes::ArraySizes;
use super::classes::{ClassKind, DumpClasses};
use super::numbers::{Numbers, Special, Tag};
use jvmti::{
    HeapVisitor, Primitive, PrimitiveField, Referee, Reference, Referrer, RootReference, Visit,
};

/// The facts found about one class.
#[derive(Clone, Default)]
pub(super) struct ClassReferences {
    /// By index in the constant pool.
    pub(super) constants: Vec<(u16, Tag)>,
    pub(super) signers: Option<Tag>,
    pub(super) protection_domain: Option<Tag>,
}

/// A walk that goes no further than the objects that classes refer to. These stay alive as long as their class.
pub(super) struct PreWalk<'s> {
    pub(super) numbers: &'s mut Numbers,
    pub(super) classes: &'s DumpClasses,
    /// By the class's index.
    pub(super) found: Vec<ClassReferences>,
    pub(super) array_sizes: ArraySizes,
    /// The tag of the first object that was reported.
    pub(super) first: Option<Tag>,
}

impl HeapVisitor for PreWalk<'_> {
    fn root(&mut self, root: RootReference, referee: Referee<'_>) -> Visit {
        self.measure(&referee);
        let tag = Tag(*referee.tag);
        self.first.get_or_insert(tag);
        let is_class = matches!(self.numbers.special(tag), Some(Special::DumpClass(_)));
        // Every class is held by a global reference.
        match is_class && root == RootReference::JniGlobal {
            true => Visit::Follow,
            false => Visit::Pass,
        }
    }

    fn reference(
        &mut self,
        referrer: Referrer,
        reference: Reference,
        referee: Referee<'_>,
    ) -> Visit {
        self.measure(&referee);
        match self.classes.place(self.numbers, Tag(referrer.tag)) {
            Some(place) => self.note(place, reference, referee),
            None => Visit::Pass,
        }
    }

    fn primitive_field(&mut self, _: PrimitiveField) -> Visit {
        Visit::Pass
    }

    fn primitive_array(&mut self, _: Referrer, _: Primitive, _: &[u8]) -> Visit {
        Visit::Pass
    }
}

impl PreWalk<'_> {
    /// Looks at the size of an array.
    fn measure(&mut self, referee: &Referee<'_>) {
        let place = self.classes.place(self.numbers, Tag(referee.class));
        let (Some(length), Some(place)) = (referee.length, place) else {
            return;
        };
        let elements = match self.classes.get(place).kind {
            ClassKind::ObjectArrays => None,
            ClassKind::PrimitiveArrays(kind) => Some(kind),
            ClassKind::Instances(_) | ClassKind::Unknown(_) => return,
        };
        self.array_sizes.add(elements, length, referee.size);
    }

    fn note(&mut self, place: usize, reference: Reference, referee: Referee<'_>) -> Visit {
        let found = &mut self.found[place];
        let (constant, single) = match reference {
            Reference::Constant(index) => (u16::try_from(index).ok(), None),
            Reference::Signers => (None, Some(&mut found.signers)),
            Reference::ProtectionDomain => (None, Some(&mut found.protection_domain)),
            _ => return Visit::Pass,
        };
        let tag = match Tag(*referee.tag) {
            Tag::NONE => self.numbers.add(referee.length.unwrap_or(0)),
            tag => Some(tag),
        };
        let Some(tag) = tag else { return Visit::Stop };
        *referee.tag = tag.0;
        if let Some(single) = single {
            *single = Some(tag);
        }
        found.constants.extend(constant.map(|index| (index, tag)));
        Visit::Pass
    }
}
