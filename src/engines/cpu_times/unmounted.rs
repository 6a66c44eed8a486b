//! Calls of virtual threads that nobody carries.

use parking_lot::Mutex;

use super::shadow_stack::Call;

/// The mark of the first place; 0 is no mark.
const FIRST_MARK: u32 = 1;

/// Keeps the calls of virtual threads that are not mounted. A virtual thread's mark says where its calls are.
#[derive(Default)]
pub(super) struct Parked(Mutex<Slots>);

#[derive(Default)]
struct Slots {
    slots: Vec<Vec<Call>>,
    free: Vec<usize>,
}

impl Parked {
    /// Keeps calls; answers the mark for them.
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
        FIRST_MARK + u32::try_from(slot).expect("4 G stacks do not fit in memory")
    }

    /// Gives back what was kept under a mark; nothing for a mark that is none of ours.
    pub(super) fn take(&self, mark: u32) -> Vec<Call> {
        let mut slots = self.0.lock();
        let Some(slot) = mark.checked_sub(FIRST_MARK) else {
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
        let parked = Parked::default();
        let (first, second) = (parked.keep(calls(1)), parked.keep(calls(2)));
        assert_eq!(parked.take(first), calls(1));
        assert_eq!(parked.keep(calls(3)), first);
        assert_eq!(parked.take(second), calls(2));
        assert_eq!(parked.take(first), calls(3));
        assert_eq!(parked.take(0), []);
        assert_eq!(parked.take(FIRST_MARK + 99), []);
    }
}
