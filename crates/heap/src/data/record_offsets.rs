//! The positions of objects' records in the file.

use std::io::{self, Write};
use std::sync::OnceLock;

use crate::data::memory::{Memory, Numbers};
use crate::data::packed::{Sequence, SequenceWriter};
use crate::data::sections::{SectionReader, SectionWriter};

/// The bytes of the file of which at most one position is remembered.
const STRIDE: u64 = 256 * 1024;

/// The positions of objects' records in the file.
#[derive(Debug, Default)]
pub(crate) struct RecordOffsets {
    /// Ids and offsets of the first record in each stride of the file that has one.
    pub(crate) samples: Vec<(u64, u64)>,
    /// `true` if the ids of the records ascend, so that all others are between the remembered neighbours of their ids.
    pub(crate) ascending: bool,
    /// Otherwise the stride of each object, determined when first needed.
    pub(crate) strides: OnceLock<Strides>,
}

impl RecordOffsets {
    /// Remembers the position of an object's record, after those before, if it is the first in its stride of the file. So
    /// the positions do not depend on the parts in which the file is read.
    #[inline]
    pub(crate) fn sample(&mut self, id: u64, offset: u64) {
        let last = self.samples.last();
        if last.is_none_or(|&(_, last)| last / STRIDE < offset / STRIDE) {
            self.samples.push((id, offset));
        }
    }

    /// Returns the offset of a record from which that with this id can be reached, if ids ascend.
    pub(crate) fn before_id(&self, id: u64) -> Option<u64> {
        let place = self.samples.partition_point(|&(first, _)| first <= id);
        let (_, offset) = self.samples.get(place.saturating_sub(1))?;
        Some(*offset)
    }

    /// Returns the same for an object in a stride.
    pub(crate) fn in_stride(&self, stride: u64) -> Option<u64> {
        let is_before = |&(_, offset): &(u64, u64)| offset / STRIDE < stride;
        let place = self.samples.partition_point(is_before);
        let (_, offset) = self.samples.get(place)?;
        Some(*offset)
    }
}

/// The strides of the file in which the records of all objects are. Neighbours are often in the same one.
#[derive(Debug)]
pub(crate) struct Strides {
    /// One more than the stride of each object, by number; 0 if it has no record.
    strides: Sequence,
}

impl Strides {
    /// Returns the stride of an object's record.
    pub(crate) fn get(&self, number: u32) -> Option<u64> {
        u64::from(self.strides.get(number as usize)).checked_sub(1)
    }

    /// Writes them as a section of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        self.strides.save(out)
    }

    /// Reads them; `None` if they are damaged. Any may be wrong.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Strides> {
        let strides = Sequence::load(index)?;
        Some(Strides { strides })
    }

    /// Returns how many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.strides.len()
    }
}

/// The strides while they are found.
pub(crate) struct NewStrides {
    strides: Numbers<u32>,
}

impl NewStrides {
    pub(crate) fn new(objects: u32, memory: &Memory) -> io::Result<NewStrides> {
        let strides = memory.table(objects as usize)?;
        Ok(NewStrides { strides })
    }

    /// Notes where a record of an object is. The first one counts.
    pub(crate) fn add(&mut self, number: u32, offset: u64) {
        let entry = &mut self.strides[number as usize];
        if *entry == 0 {
            // A file of 2^50 bytes has fewer.
            *entry = (offset / STRIDE) as u32 + 1;
        }
    }

    pub(crate) fn finish(self, memory: &Memory) -> io::Result<Strides> {
        let mut strides = SequenceWriter::new(self.strides.len(), memory)?;
        self.strides.iter().for_each(|&stride| strides.push(stride));
        let strides = strides.finish();
        Ok(Strides { strides })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_at_or_after_the_first_of_its_stride() {
        let offsets = [10, 90, STRIDE - 1, STRIDE + 5, 4 * STRIDE, 4 * STRIDE + 9];
        let mut all = RecordOffsets::default();
        for (id, offset) in (100..).zip(offsets) {
            all.sample(id, offset);
        }
        assert_eq!(
            all.samples,
            [(100, 10), (103, STRIDE + 5), (104, 4 * STRIDE)]
        );
        let before = [99, 100, 102, 103, 1000].map(|id| all.before_id(id));
        let expected = [10, 10, 10, STRIDE + 5, 4 * STRIDE].map(Some);
        assert_eq!(before, expected);
        let in_stride = [0, 1, 2, 4, 5, u64::MAX].map(|stride| all.in_stride(stride));
        let later = Some(4 * STRIDE);
        assert_eq!(
            in_stride,
            [Some(10), Some(STRIDE + 5), later, later, None, None]
        );
    }

    #[test]
    fn the_first_record_of_an_object_counts() {
        let memory = Memory::unlimited();
        let mut strides = NewStrides::new(4, &memory).expect("memory");
        for (number, offset) in [(2, 9), (0, 7 * STRIDE + 1), (2, 8 * STRIDE), (3, STRIDE)] {
            strides.add(number, offset);
        }
        let strides = strides.finish(&memory).expect("memory");
        let found = [0, 1, 2, 3].map(|number| strides.get(number));
        assert_eq!(found, [Some(7), None, Some(0), Some(1)]);
    }
}
