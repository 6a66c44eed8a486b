//! The objects that one thread allocated most recently, in the order of their births.

use super::super::budget::{Step, Steps};
use super::super::lifetimes::Birth;
use super::super::sites::{SiteId, Weight};
use jvmti::ObjectRef;

/// Objects in one chunk.
pub(super) const CHUNK: usize = 256;

/// A tracked object: 16 bytes, and a word in the VM.
pub(in super::super) struct Tracked {
    pub(in super::super) object: ObjectRef,
    /// Its site, and above that the step at which the VM chose it.
    site_and_step: u32,
    /// Its size in words of 8 bytes: objects are aligned to that, and the largest array has 2^31 elements of 8 bytes.
    words: u32,
}

/// The bits of a site: more sites than that would take tens of gigabytes.
const SITE_BITS: u32 = u32::BITS - Step::BITS;

const _: () = assert!(size_of::<Tracked>() == 16);

impl Tracked {
    /// Creates an entry for an object of that size; `None` if there are too many sites.
    pub(in super::super) fn new(
        object: ObjectRef,
        site: SiteId,
        step: Step,
        bytes: u64,
    ) -> Option<Self> {
        Some(Self {
            object,
            site_and_step: site.bits(SITE_BITS)? | u32::from(step.number()) << SITE_BITS,
            words: u32::try_from(bytes / 8).unwrap_or(u32::MAX),
        })
    }

    pub(in super::super) fn site(&self) -> SiteId {
        SiteId::of_bits(self.site_and_step & ((1 << SITE_BITS) - 1))
    }

    pub(super) fn step(&self) -> Step {
        let number = (self.site_and_step >> SITE_BITS) as u8;
        Step::new(number)
    }

    /// Returns what the object stands for.
    #[inline]
    pub(in super::super) fn weight(&self, steps: &Steps) -> Weight {
        steps.weight(self.step()).weight(self.bytes())
    }

    /// Returns the object's size.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.words) * 8
    }
}

/// The objects that one thread allocated most recently.
#[derive(Default)]
pub(in super::super) struct Nursery(Chunk);

/// Objects, and where in their order each moment begins.
pub(in super::super) struct Chunk<T = Tracked> {
    objects: Vec<T>,
    /// The moment of the first objects.
    first: Birth,
    /// The moment of the last objects.
    last: Birth,
    /// The moments after the first, and the positions of their first objects.
    later: Vec<(usize, Birth)>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<T> Chunk<T> {
    pub(super) fn with_capacity(objects: usize) -> Self {
        Self {
            objects: Vec::with_capacity(objects),
            first: Birth::default(),
            last: Birth::default(),
            later: Vec::new(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.objects.capacity()
    }

    pub(super) fn objects(&self) -> &[T] {
        &self.objects
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Adds an object that was made in this moment.
    #[inline]
    pub(super) fn push(&mut self, object: T, birth: Birth) {
        if birth != self.last {
            self.begin(birth);
        }
        self.objects.push(object);
    }

    #[cold]
    fn begin(&mut self, birth: Birth) {
        self.last = birth;
        match self.objects.len() {
            0 => self.first = birth,
            position => self.later.push((position, birth)),
        }
    }

    /// Takes the chunk apart into the objects of each moment.
    pub(super) fn by_birth(self) -> impl Iterator<Item = (Birth, Vec<T>)> {
        let Self {
            mut objects,
            first,
            later,
            ..
        } = self;
        let mut parts: Vec<_> = later
            .into_iter()
            .rev()
            .map(|(position, birth)| (birth, objects.split_off(position)))
            .collect();
        parts.push((first, objects));
        parts.into_iter().rev()
    }
}

impl Nursery {
    /// Adds an object that was just allocated; its site counts it later. Returns the chunk if it is now full.
    #[inline]
    pub(in super::super) fn add(&mut self, tracked: Tracked, birth: Birth) -> Option<Chunk> {
        if self.0.capacity() == 0 {
            self.0 = Chunk::with_capacity(CHUNK);
        }
        self.0.push(tracked, birth);
        (self.0.len() == CHUNK).then(|| std::mem::replace(&mut self.0, Chunk::with_capacity(CHUNK)))
    }

    /// Removes and returns all objects.
    pub(in super::super) fn take(&mut self) -> Chunk {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart_by_their_moments() {
        let mut chunk = Chunk::with_capacity(8);
        let birth = |collections| Birth {
            collections,
            tick: 0,
        };
        for (collections, object) in [(3, 'a'), (3, 'b'), (4, 'c'), (6, 'd'), (6, 'e')] {
            chunk.push(object, birth(collections));
        }
        let parts = chunk.by_birth().map(|(birth, objects)| {
            let objects: String = objects.into_iter().collect();
            (birth.collections, objects)
        });
        let parts: Vec<_> = parts.collect();
        let expected = [(3, "ab"), (4, "c"), (6, "de")];
        assert_eq!(
            parts,
            expected.map(|(birth, objects)| (birth, objects.to_owned()))
        );
    }
}
