//! Memory that is set aside for the moment when the system has no more: mapped and never touched, so that it takes
//! address space only, and given back to the system when it is needed.

use std::ptr;

use spin::mutex::SpinMutex;

use super::{OutOfMemory, large_blocks};

/// One mapping, or none.
pub(super) struct SetAside(SpinMutex<Mapping>);

#[derive(Clone, Copy)]
struct Mapping {
    /// Null while the system has the memory.
    start: *mut u8,
    /// The bytes that are to be set aside; 0 if none are.
    size: usize,
}

// SAFETY: the mapping may be unmapped by any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    const NONE: Self = Self {
        start: ptr::null_mut(),
        size: 0,
    };

    fn of(size: usize) -> Result<Self, OutOfMemory> {
        let start = large_blocks::map(size);
        match start.is_null() {
            true => Err(OutOfMemory),
            false => Ok(Self { start, size }),
        }
    }

    fn unmap(self) {
        if !self.start.is_null() {
            // SAFETY: `of` has mapped it, nothing refers into it, and only the thread that took it out of the lock has it.
            unsafe { large_blocks::unmap(self.start, self.size) };
        }
    }
}

impl SetAside {
    pub(super) const fn new() -> Self {
        Self(SpinMutex::new(Mapping::NONE))
    }

    /// Sets this many bytes aside, instead of those that were.
    pub(super) fn set(&self, size: usize) -> Result<(), OutOfMemory> {
        let mapping = Mapping::of(size)?;
        self.replace(mapping);
        Ok(())
    }

    /// Sets this many more bytes aside, if any are. Without memory for it, all stays as it was.
    pub(super) fn add(&self, size: usize) {
        let wanted = match self.0.lock().size {
            0 => return,
            held => held.saturating_add(size),
        };
        let Ok(mapping) = Mapping::of(wanted) else {
            return;
        };
        let mut held = self.0.lock();
        // Memory may have run out meanwhile.
        let unneeded = match held.size {
            0 => mapping,
            _ => std::mem::replace(&mut *held, mapping),
        };
        drop(held);
        unneeded.unmap();
    }

    /// Gives the memory back to the system, until [`SetAside::restore`].
    pub(super) fn lend(&self) {
        let mut held = self.0.lock();
        let lent = *held;
        held.start = ptr::null_mut();
        drop(held);
        lent.unmap();
    }

    /// Sets aside again what was lent, if the system has it.
    pub(super) fn restore(&self) {
        let Mapping { start, size } = *self.0.lock();
        if !start.is_null() || size == 0 {
            return;
        }
        if let Ok(mapping) = Mapping::of(size) {
            let mut held = self.0.lock();
            let is_lent = held.start.is_null() && held.size == size;
            let unneeded = match is_lent {
                true => std::mem::replace(&mut *held, mapping),
                false => mapping,
            };
            drop(held);
            unneeded.unmap();
        }
    }

    /// Gives the memory back to the system for good.
    pub(super) fn release(&self) {
        self.replace(Mapping::NONE);
    }

    /// Unmaps without the lock: a thread that waits for it uses the CPU.
    fn replace(&self, mapping: Mapping) {
        let before = std::mem::replace(&mut *self.0.lock(), mapping);
        before.unmap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1 << 20;

    fn is_mapped(set_aside: &SetAside) -> Option<usize> {
        let Mapping { start, size } = *set_aside.0.lock();
        (!start.is_null()).then_some(size)
    }

    #[test]
    fn what_is_set_aside_is_lent_and_comes_back() {
        let set_aside = SetAside::new();
        set_aside.restore();
        set_aside.add(SIZE);
        assert_eq!(is_mapped(&set_aside), None, "nothing was to be set aside");
        set_aside.set(SIZE).expect("memory");
        set_aside.add(2 * SIZE);
        assert_eq!(is_mapped(&set_aside), Some(3 * SIZE));
        // More than any address space.
        set_aside.add(usize::MAX / 2);
        assert_eq!(is_mapped(&set_aside), Some(3 * SIZE));
        set_aside.lend();
        set_aside.lend();
        assert_eq!(is_mapped(&set_aside), None);
        set_aside.restore();
        set_aside.restore();
        assert_eq!(is_mapped(&set_aside), Some(3 * SIZE));
        set_aside.lend();
        set_aside.release();
        set_aside.restore();
        assert_eq!(is_mapped(&set_aside), None, "it was released for good");
    }
}
