//! The references that are omitted from the graph, in few bytes: those to roots, and those that do not keep their target
//! alive.
//!
//! They are looked through one after the other, and mostly come in the order of their sources. So each is the differences
//! of its source and its target from those of the reference before, in the form of [`varint`].

use std::io::{self, Write};

use crate::data::memory::{Growing, Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The number of omitted references up to which they are always kept.
const MOST: usize = 1 << 20;

/// The omitted references; `None` if there are very many.
#[derive(Debug)]
pub(crate) struct Omitted(Option<Numbers<u8>>);

/// The omitted references while they are collected. They are few, except in unusual dumps.
pub(crate) struct NewOmitted {
    bytes: Growing<u8>,
    count: usize,
    most: usize,
    last: [u32; 2],
}

impl NewOmitted {
    pub(crate) fn new(objects: u32, memory: &Memory) -> NewOmitted {
        NewOmitted {
            bytes: memory.growing(),
            count: 0,
            most: MOST.max(objects as usize / 4),
            last: [0; 2],
        }
    }

    /// Adds a reference from an object to another.
    pub(crate) fn add(&mut self, reference: [u32; 2]) {
        if self.count > self.most {
            return;
        }
        self.count += 1;
        let mut bytes = [0; 2 * MOST_BYTES];
        let mut length = 0;
        for (number, before) in reference.into_iter().zip(self.last) {
            let difference = i64::from(number) - i64::from(before);
            varint::put(varint::fold(difference), &mut bytes, &mut length);
        }
        self.bytes.extend(&bytes[..length]);
        self.last = reference;
    }

    pub(crate) fn finish(self) -> io::Result<Omitted> {
        let are_few = self.count <= self.most;
        let bytes = are_few.then(|| self.bytes.finish()).transpose();
        bytes.map(Omitted)
    }
}

/// The most bytes of a difference, which has 33 bits and a sign.
const MOST_BYTES: usize = 5;

impl Omitted {
    /// Iterates over the sources and targets of all; `None` if they are not known. Those of a damaged index may be any.
    pub(crate) fn iter(&self) -> Option<impl Iterator<Item = [u32; 2]>> {
        let bytes = &self.0.as_ref()?[..];
        let (mut at, mut last) = (0, [0_u32; 2]);
        Some(std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            for number in &mut last {
                let difference = varint::unfold(varint::read(bytes, &mut at));
                *number = i64::from(*number).wrapping_add(difference) as u32;
            }
            Some(last)
        }))
    }

    /// Writes them as sections of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        out.table(&[u64::from(self.0.is_some())])?;
        out.table(self.0.as_deref().unwrap_or_default())
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Omitted> {
        let are_known = index.one::<u64>()? != 0;
        let bytes = index.table()?;
        Some(Omitted(Some(bytes).filter(|_| are_known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_was_added_unless_there_are_very_many() {
        let few = [[7, 9], [7, 9], [u32::MAX, 0], [0, u32::MAX], [3, 3]];
        let mut omitted = NewOmitted::new(10, &Memory::unlimited());
        few.iter().for_each(|&reference| omitted.add(reference));
        let omitted = omitted.finish().expect("there is memory");
        assert!(omitted.iter().is_some_and(|all| all.eq(few)));
        let mut omitted = NewOmitted::new(10, &Memory::unlimited());
        (0..MOST as u32 + 1).for_each(|number| omitted.add([number, 0]));
        let omitted = omitted.finish().expect("there is memory");
        assert!(omitted.iter().is_none());
    }

    #[test]
    fn those_to_one_target_from_neighbours_take_two_bytes() {
        let mut omitted = NewOmitted::new(10, &Memory::unlimited());
        (0..1000).for_each(|number| omitted.add([number, 5]));
        let omitted = omitted.finish().expect("there is memory");
        assert_eq!(omitted.0.map_or(0, |bytes| bytes.len()), 2 * 1000);
    }
}
