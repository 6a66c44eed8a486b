//! Stacks that share common beginnings.

/// Stacks, outermost frame first.
#[derive(Default)]
pub struct StacksByRoot {
    frames: Vec<u32>,
    ends: Vec<usize>,
}

/// Stacks in an order in which all that begin with one follow it. The first has no frame; each of the others is the
/// previous one with some frames removed and one added.
pub struct Preorder {
    /// The number of removed frames.
    pub fewer: Vec<u32>,
    /// The added frame; 0 for the first stack.
    pub frames: Vec<u32>,
    /// The position of each stack, by the number that [`StacksByRoot::push`] returned.
    pub numbers: Vec<u32>,
}

/// Returns the number that the page has for a position.
///
/// # Panics
/// From the 2^32nd item on, whose number would be another's. No browser could show such a page.
pub fn number(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 items of a kind in a page")
}

impl StacksByRoot {
    /// Adds a stack and returns its number.
    pub fn push(&mut self, path: impl IntoIterator<Item = u32>) -> u32 {
        let number = number(self.ends.len());
        self.frames.extend(path);
        self.ends.push(self.frames.len());
        number
    }

    fn path(&self, number: u32) -> &[u32] {
        let index = number as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.frames[start..self.ends[index]]
    }

    /// Returns all stacks in order.
    pub fn preorder(&self) -> Preorder {
        let mut sorted: Vec<u32> = (0..number(self.ends.len())).collect();
        sorted.sort_unstable_by_key(|&stack| self.path(stack));
        let mut order = Preorder {
            fewer: vec![0],
            frames: vec![0],
            numbers: vec![0; self.ends.len()],
        };
        let mut before: &[u32] = &[];
        for stack in sorted {
            let path = self.path(stack);
            let pairs = path.iter().zip(before);
            let shared = pairs.take_while(|(one, other)| one == other).count();
            let mut fewer = number(before.len() - shared);
            for &frame in &path[shared..] {
                order.fewer.push(fewer);
                order.frames.push(frame);
                fewer = 0;
            }
            order.numbers[stack as usize] = number(order.frames.len() - 1);
            before = path;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_alike_stands_together() {
        let mut stacks = StacksByRoot::default();
        let added = [&[7, 8][..], &[9], &[7, 5], &[7], &[7, 8, 1], &[], &[9]];
        let numbers = added.map(|path| stacks.push(path.iter().copied()));
        let order = stacks.preorder();
        assert_eq!(order.frames, [0, 7, 5, 8, 1, 9]);
        assert_eq!(order.fewer, [0, 0, 0, 1, 0, 3]);
        let places = numbers.map(|number| order.numbers[number as usize]);
        assert_eq!(places, [3, 5, 2, 1, 4, 0, 5]);
    }
}
