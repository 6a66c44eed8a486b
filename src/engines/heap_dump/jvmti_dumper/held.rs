//! Objects that must be there when the walk comes, whatever becomes of the references to them meanwhile.

use fixedbitset::FixedBitSet;

use super::numbers::Tag;
use crate::engines::heap_dump::DumpError;
use crate::jvmti::{GlobalRef, Jni, Object};

/// Holds objects, each by one global reference: those take no room in the Java heap.
#[derive(Default)]
pub(super) struct HeldObjects {
    references: Vec<GlobalRef>,
    numbers: FixedBitSet,
}

impl HeldObjects {
    /// Holds an object, if it is not held yet.
    pub(super) fn hold(
        &mut self,
        jni: Jni<'_>,
        object: Object<'_>,
        tag: Tag,
    ) -> Result<(), DumpError> {
        let number = tag.number() as usize;
        self.numbers.grow(number + 1);
        if !self.numbers.put(number) {
            let reference = GlobalRef::new(jni, object);
            self.references
                .push(reference.ok_or(DumpError::Walk("no room for references to it"))?);
        }
        Ok(())
    }

    /// The numbers of the objects.
    pub(super) fn numbers(&self) -> FixedBitSet {
        self.numbers.clone()
    }
}
