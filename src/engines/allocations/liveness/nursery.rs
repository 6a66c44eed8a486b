//! The objects that one thread allocated most recently, in the order of their births.

use super::super::lifetimes::Birth;
use super::kind::Kind;
use jvmti::ObjectRef;

/// Objects in one chunk.
pub(super) const CHUNK: usize = 256;

/// A tracked object that has not been looked at: 16 bytes, and a word in the VM. Later it takes [less](jvmti::ObjectRefs).
pub(in super::super) struct Tracked {
    pub(in super::super) object: ObjectRef,
    pub(in super::super) kind: Kind,
}

const _: () = assert!(size_of::<Tracked>() == 16);

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
