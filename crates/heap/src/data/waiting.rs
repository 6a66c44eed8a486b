//! The objects that wait for their finalizer: the VM keeps them until it has run, however many collections there are.

use std::io::{self, Write};

use crate::data::numbers::ObjectNumber;
use crate::data::objects::MOST_BYTES;
use crate::data::sections::{SectionReader, SectionWriter};

/// The objects that only finalizers keep.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The finalizers, each with an object that nothing else keeps alive.
    pub(crate) references: Vec<[ObjectNumber; 2]>,
    /// The bytes of these objects and of what only they keep alive.
    pub(crate) bytes: u64,
}

impl Waiting {
    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        let references = self.references.iter().map(|&[from, to]| [from.0, to.0]);
        out.table(&references.collect::<Vec<[u32; 2]>>())?;
        out.table(&[self.bytes])
    }

    /// Reads those among so many objects; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader, objects: u32) -> Option<Waiting> {
        let references = index.list::<[u32; 2]>()?;
        let are_objects = references.iter().flatten().all(|&number| number < objects);
        let references = references.into_iter();
        let references = references.map(|[from, to]| [ObjectNumber(from), ObjectNumber(to)]);
        let waiting = Waiting {
            references: references.collect(),
            bytes: index.one()?,
        };
        (are_objects && waiting.bytes <= MOST_BYTES).then_some(waiting)
    }
}
