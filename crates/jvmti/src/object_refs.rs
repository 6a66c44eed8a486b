//! Weak references to millions of objects, most of which take 4 bytes.

use std::marker::PhantomData;
use std::mem;
use std::ops::Deref;

use memory::{LabelledWord, LabelledWords, OutOfMemory};

use super::jni::ObjectRef;

/// Weak references with labels, in no order. If they are dropped, the VM keeps them until it ends, as it does an [`ObjectRef`].
///
/// Invariant: each word is the address of a reference that nothing else owns.
#[derive(Default)]
pub struct ObjectRefs(LabelledWords);

/// A reference that others own.
pub struct BorrowedRef<'a> {
    object: ObjectRef,
    owner: PhantomData<&'a ObjectRefs>,
}

impl Deref for BorrowedRef<'_> {
    type Target = ObjectRef;

    #[inline]
    fn deref(&self) -> &ObjectRef {
        &self.object
    }
}

impl ObjectRefs {
    /// Returns the number of references.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a reference.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the VM keeps the reference until it ends.
    #[inline]
    pub fn push(&mut self, label: u64, object: ObjectRef) -> Result<(), OutOfMemory> {
        let word = object.address() as u64;
        self.0.push(LabelledWord { label, word })
    }

    /// Adds all references of the others.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the VM keeps some of the references until it ends.
    pub fn append(&mut self, others: Self) -> Result<(), OutOfMemory> {
        self.0.append(others.0)
    }

    /// Gives back memory that is not needed: to be called when no more references are added for a while.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the VM keeps some of the references until it ends.
    pub fn close(&mut self) -> Result<(), OutOfMemory> {
        self.0.close()
    }

    /// Iterates over all references with their labels.
    pub fn iter(&self) -> impl Iterator<Item = (u64, BorrowedRef<'_>)> {
        self.0.iter().filter_map(|LabelledWord { label, word }| {
            // SAFETY: by the invariant the word is a reference's address. The references stay borrowed while this one exists, and
            // `BorrowedRef` lends it without giving it away.
            let object = unsafe { ObjectRef::at(word as usize) }?;
            let owner = PhantomData;
            Some((label, BorrowedRef { object, owner }))
        })
    }

    /// Passes the references to dead objects to `died`, with their labels, and keeps the others. Some time before `is_dead` looks
    /// at a reference, `announce` is called with it.
    pub fn take_dead(
        &mut self,
        announce: impl Fn(&ObjectRef),
        is_dead: impl Fn(&ObjectRef) -> bool,
        mut died: impl FnMut(u64, ObjectRef),
    ) {
        // SAFETY: by the invariant the word is a reference's address. It is given away only where its word is removed.
        let object = |word: u64| unsafe { ObjectRef::at(word as usize) };
        // If `died` unwinds, all are forgotten: one that it has deleted must not be found again.
        let mut words = mem::take(&mut self.0);
        words.retain(
            |word| object(word).iter().for_each(&announce),
            |LabelledWord { label, word }| match object(word) {
                Some(object) if is_dead(&object) => {
                    died(label, object);
                    false
                }
                _ => true,
            },
        );
        self.0 = words;
    }
}

impl IntoIterator for ObjectRefs {
    type Item = (u64, ObjectRef);
    type IntoIter = Box<dyn Iterator<Item = Self::Item>>;

    fn into_iter(self) -> Self::IntoIter {
        let words = self.0.into_iter();
        Box::new(words.filter_map(|LabelledWord { label, word }| {
            // SAFETY: by the invariant the word is the address of a reference that nothing else owns; its word is gone.
            Some((label, unsafe { ObjectRef::at(word as usize) }?))
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn of_addresses(addresses: impl IntoIterator<Item = usize>) -> ObjectRefs {
        let mut references = ObjectRefs::default();
        for address in addresses {
            // SAFETY: no VM is asked about it.
            let object = unsafe { ObjectRef::at(address) }.expect("not 0");
            references.push(address as u64 % 3, object).expect("memory");
        }
        references
    }

    #[test]
    fn the_dead_are_given_away_and_the_others_stay() {
        let mut references = of_addresses((1..=1_000).map(|number| 8 * number));
        references.close().expect("memory");
        let mut dead = Vec::new();
        references.take_dead(
            |_| (),
            |object| object.address() > 800,
            |label, object| dead.push((label, object.address())),
        );
        assert_eq!((references.len(), dead.len()), (100, 900));
        assert!(
            dead.iter()
                .all(|&(label, address)| address as u64 % 3 == label)
        );
        assert!(references.iter().all(|(_, object)| object.address() <= 800));
        assert_eq!(references.into_iter().count(), 100);
    }

    #[test]
    fn what_was_deleted_before_an_unwinding_is_not_found_again() {
        let mut references = of_addresses([8, 16, 24]);
        let mut given = 0;
        let died = |_, _: ObjectRef| {
            given += 1;
            assert!(given < 2, "as if memory were out");
        };
        let unwound = AssertUnwindSafe(|| references.take_dead(|_| (), |_| true, died));
        assert!(catch_unwind(unwound).is_err());
        assert!(references.is_empty());
    }
}
