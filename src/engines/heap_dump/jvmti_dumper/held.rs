//! Objects that must stay alive until the walk, even if the references to them change.

use fixedbitset::FixedBitSet;

use super::numbers::Tag;
use crate::engines::heap_dump::DumpError;
use jvmti::{GlobalRef, Jni, JvmtiError, Object, Tags};

/// Holds each object by a global reference, which takes no room in the Java heap.
#[derive(Default)]
pub(super) struct HeldObjects {
    references: Vec<GlobalRef>,
    numbers: FixedBitSet,
}

impl HeldObjects {
    /// Holds an object, unless it is held already.
    pub(super) fn hold(
        &mut self,
        jni: Jni<'_>,
        object: Object<'_>,
        tag: Tag,
    ) -> Result<(), DumpError> {
        let number = tag.index();
        self.numbers.grow(number + 1);
        if !self.numbers.put(number) {
            let reference = GlobalRef::new(jni, object);
            self.references
                .push(reference.ok_or(DumpError::Walk("no room for references to it"))?);
        }
        Ok(())
    }

    /// Removes the tags of the objects.
    pub(super) fn untag(&self, tags: &Tags) -> Result<(), JvmtiError> {
        let mut objects = self.references.iter();
        objects.try_for_each(|reference| tags.set(reference.object(), Tag::NONE.0))
    }

    /// Returns the numbers of the objects.
    pub(super) fn numbers(&self) -> FixedBitSet {
        self.numbers.clone()
    }
}
