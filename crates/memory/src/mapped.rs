//! Arrays that go back to the system while threads may still read and write them.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::allocator::{count, discount};
use super::{OutOfMemory, large_blocks};

/// A value that may become 0 at any moment, as if another thread had stored that.
///
/// # Safety
/// All of its fields are atomics, or padding; so zeros are a valid value, and those of some fields, too.
pub unsafe trait Discardable: Sync {}

// SAFETY: they are atomics.
unsafe impl Discardable for AtomicU8 {}
// SAFETY: as above.
unsafe impl Discardable for AtomicU32 {}
// SAFETY: as above.
unsafe impl Discardable for AtomicU64 {}

/// An array in memory of its own, or a part of one. All parts share the memory, which is freed with the last of them.
pub struct Mapped<T> {
    mapping: Arc<Mapping>,
    start: NonNull<T>,
    len: usize,
    values: PhantomData<T>,
}

struct Mapping {
    start: NonNull<u8>,
    size: usize,
    /// Set once the system has the memory back; the addresses are still taken.
    is_discarded: AtomicBool,
}

// SAFETY: the memory is read and written through atomics alone until nobody has it any more.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}
// SAFETY: it is a reference to values that threads may share, and which are not dropped.
unsafe impl<T: Discardable> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Discardable> Sync for Mapped<T> {}

impl<T> Clone for Mapped<T> {
    fn clone(&self) -> Self {
        Self {
            mapping: self.mapping.clone(),
            ..*self
        }
    }
}

impl<T: Discardable> Mapped<T> {
    /// Creates an array of zeros. It takes whole pages.
    ///
    /// # Errors
    /// [`OutOfMemory`]
    pub fn zeroed(len: usize) -> Result<Self, OutOfMemory> {
        const { assert!(align_of::<T>() <= large_blocks::PAGE && size_of::<T>() > 0) };
        let mapping = Mapping::new(len.checked_mul(size_of::<T>()).ok_or(OutOfMemory)?)?;
        Ok(Self {
            start: mapping.start.cast(),
            mapping: Arc::new(mapping),
            len,
            values: PhantomData,
        })
    }

    /// Returns a part of the array.
    ///
    /// # Panics
    /// Panics if it is not within the array, as indexing does.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        let part = &self[range];
        Self {
            mapping: self.mapping.clone(),
            start: NonNull::from(part).cast(),
            len: part.len(),
            values: PhantomData,
        }
    }

    /// Gives the memory of all parts back to the system, if it takes it. The array is usable as before: its values are 0 or as they
    /// were, and what is written from now on takes memory again.
    pub fn discard(&self) {
        self.mapping.discard();
    }
}

impl<T: Discardable> Deref for Mapped<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping has room for them, and lives as long as `self`; it was zeros, which are valid, and has only been
        // changed through such slices since, or become zeros again, which `Discardable` permits.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Mapping {
    fn new(size: usize) -> Result<Self, OutOfMemory> {
        let size = size.max(1).next_multiple_of(large_blocks::PAGE);
        let start = NonNull::new(large_blocks::map(size)).ok_or(OutOfMemory)?;
        count(size);
        Ok(Self {
            start,
            size,
            is_discarded: AtomicBool::new(false),
        })
    }

    fn discard(&self) {
        if !self.is_discarded.swap(true, Ordering::Relaxed) {
            // SAFETY: the whole of a block of `map`, whose values are all `Discardable`.
            match unsafe { large_blocks::discard(self.start.as_ptr(), self.size) } {
                true => discount(self.size),
                false => self.is_discarded.store(false, Ordering::Relaxed),
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (start, size) = (self.start.as_ptr(), self.size);
        if *self.is_discarded.get_mut() {
            // SAFETY: a block of `map` with this size, which nobody has any more.
            return unsafe { large_blocks::unmap_discarded(start, size) };
        }
        discount(size);
        // SAFETY: as above.
        unsafe { large_blocks::unmap(start, size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OrStop;

    #[test]
    fn parts_share_the_memory() {
        let all = Mapped::<AtomicU64>::zeroed(1_000).or_stop();
        let part = all.part(10..20);
        part[0].store(7, Ordering::Relaxed);
        assert_eq!((part.len(), all[10].load(Ordering::Relaxed)), (10, 7));
        drop(all);
        assert_eq!(part[0].load(Ordering::Relaxed), 7);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri has no madvise")]
    fn discarded_memory_is_zeros_that_can_be_written() {
        let all = Mapped::<AtomicU64>::zeroed(100_000).or_stop();
        let part = all.part(50_000..60_000);
        all.iter()
            .for_each(|value| value.store(1, Ordering::Relaxed));
        let resident = || {
            let mut pages = vec![0_u8; all.mapping.size / large_blocks::PAGE];
            // SAFETY: the range is mapped, and there is a byte for each of its pages.
            let done = unsafe {
                libc::mincore(
                    all.mapping.start.as_ptr().cast(),
                    all.mapping.size,
                    pages.as_mut_ptr(),
                )
            };
            assert_eq!(done, 0);
            pages.iter().filter(|&page| page & 1 == 1).count()
        };
        assert!(resident() > 190);
        part.discard();
        assert_eq!(resident(), 0);
        assert!(all.iter().all(|value| value.load(Ordering::Relaxed) == 0));
        part[3].store(5, Ordering::Relaxed);
        assert_eq!(all[50_003].load(Ordering::Relaxed), 5);
    }
}
