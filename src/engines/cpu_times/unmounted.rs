//! Calls of virtual threads that are not mounted.

use super::shadow_stack::Call;
use locks::{Mutex, rank};

/// The key of the first slot; 0 is not a key.
const FIRST_KEY: u32 = 1;

/// Keeps the calls of virtual threads that are not mounted, each under a key that the virtual thread stores.
#[derive(Default)]
pub(super) struct UnmountedStacks(Mutex<UnmountedSlots, rank::UnmountedStacks>);

#[derive(Default)]
struct UnmountedSlots {
    slots: Vec<Vec<Call>>,
    free: Vec<usize>,
}

impl UnmountedStacks {
    /// Keeps calls; returns their key.
    pub(super) fn keep(&self, calls: Vec<Call>) -> u32 {
        let mut slots = self.0.lock();
        let slot = match slots.free.pop() {
            Some(slot) => {
                slots.slots[slot] = calls;
                slot
            }
            None => {
                slots.slots.push(calls);
                slots.slots.len() - 1
            }
        };
        FIRST_KEY + u32::try_from(slot).expect("4 G stacks do not fit in memory")
    }

    /// Takes the calls kept under a key; empty for an unknown key.
    pub(super) fn take(&self, key: u32) -> Vec<Call> {
        let mut slots = self.0.lock();
        let Some(slot) = key.checked_sub(FIRST_KEY) else {
            return Vec::new();
        };
        let Some(calls) = slots.slots.get_mut(slot as usize).map(std::mem::take) else {
            return Vec::new();
        };
        slots.free.push(slot as usize);
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(method: u32) -> Vec<Call> {
        vec![Call {
            method,
            context: 0,
            since: None,
            at: 0,
        }]
    }

    #[test]
    fn places_are_used_again() {
        let unmounted_stacks = UnmountedStacks::default();
        let (first, second) = (
            unmounted_stacks.keep(calls(1)),
            unmounted_stacks.keep(calls(2)),
        );
        assert_eq!(unmounted_stacks.take(first), calls(1));
        assert_eq!(unmounted_stacks.keep(calls(3)), first);
        assert_eq!(unmounted_stacks.take(second), calls(2));
        assert_eq!(unmounted_stacks.take(first), calls(3));
        assert_eq!(unmounted_stacks.take(0), []);
        assert_eq!(unmounted_stacks.take(FIRST_KEY + 99), []);
    }
}
