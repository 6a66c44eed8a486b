//! Calls of virtual threads that are not mounted.

use locks::{Mutex, rank};

/// The key of the first slot; 0 is not a key.
const FIRST_KEY: u32 = 1;

/// Keeps the calls of virtual threads that are not mounted, each under a key that the virtual thread stores.
pub(super) struct UnmountedStacks<T>(Mutex<UnmountedSlots<T>, rank::UnmountedStacks>);

struct UnmountedSlots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for UnmountedStacks<T> {
    fn default() -> Self {
        let slots = Vec::new();
        let free = Vec::new();
        Self(Mutex::new(UnmountedSlots { slots, free }))
    }
}

impl<T> UnmountedStacks<T> {
    /// Keeps calls; returns their key.
    pub(super) fn keep(&self, calls: T) -> u32 {
        let mut slots = self.0.lock();
        let slot = match slots.free.pop() {
            Some(slot) => {
                slots.slots[slot] = Some(calls);
                slot
            }
            None => {
                slots.slots.push(Some(calls));
                slots.slots.len() - 1
            }
        };
        FIRST_KEY + u32::try_from(slot).expect("4 G stacks do not fit in memory")
    }

    /// Takes the calls kept under a key; `None` for an unknown key.
    pub(super) fn take(&self, key: u32) -> Option<T> {
        let slot = key.checked_sub(FIRST_KEY)? as usize;
        let mut slots = self.0.lock();
        let calls = slots.slots.get_mut(slot)?.take()?;
        slots.free.push(slot);
        Some(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let unmounted_stacks = UnmountedStacks::default();
        let (first, second) = (unmounted_stacks.keep('a'), unmounted_stacks.keep('b'));
        assert_eq!(unmounted_stacks.take(first), Some('a'));
        assert_eq!(unmounted_stacks.keep('c'), first);
        assert_eq!(unmounted_stacks.take(second), Some('b'));
        assert_eq!(unmounted_stacks.take(first), Some('c'));
        assert_eq!(unmounted_stacks.take(0), None);
        assert_eq!(unmounted_stacks.take(FIRST_KEY + 99), None);
    }
}
