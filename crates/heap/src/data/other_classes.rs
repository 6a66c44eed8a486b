//! The classes that objects refer to and the dump lacks, as an index has them.

use hprof_format::BasicType;

use crate::data::classes::{Class, ClassOf, Classes, primitive};
use crate::data::dump::Dump;
use crate::data::numbers::ClassIndex;

/// A class that the dump lacks, in an index: one by the id of its object, of arrays of a primitive type, and of classes.
const OBJECT: u64 = 0;
const ARRAY: u64 = 1;
const OF_CLASSES: u64 = 2;

impl Classes {
    /// Returns the classes that objects refer to and the dump lacks, in the form of [`Classes::add_other`].
    pub(crate) fn others(&self) -> Vec<[u64; 2]> {
        let others = self.all.iter().skip(self.downwards.len());
        let other = |class: &Class| {
            let element = class.name.strip_suffix("[]").and_then(primitive);
            match (class.object, element) {
                (0, Some(element)) => [ARRAY, element as u64],
                (0, None) => [OF_CLASSES, 0],
                (object, _) => [OBJECT, object],
            }
        };
        others.map(other).collect()
    }

    /// Returns `true` if the dump lacks classes that the VM does not make up itself.
    pub(crate) fn lacks_some(&self) -> bool {
        let others = self.all.iter().skip(self.downwards.len());
        others.into_iter().any(|class| class.object != 0)
    }

    /// Adds a class that the dump lacks; `None` if there is no such class.
    pub(crate) fn add_other(&mut self, [kind, value]: [u64; 2], dump: &Dump) -> Option<()> {
        let next = ClassIndex::at(self.all.len());
        let class = match kind {
            OBJECT => ClassOf::Object(value),
            ARRAY => ClassOf::Primitives(BasicType::from_byte(u8::try_from(value).ok()?)?),
            OF_CLASSES => ClassOf::Classes,
            _ => return None,
        };
        (self.index_of(class, dump) == next).then_some(())
    }
}
