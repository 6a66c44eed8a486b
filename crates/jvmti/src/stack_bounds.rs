//! The bounds of a thread's stack.

/// The addresses of a thread's stack, from `begin`, the lowest, up to `end`, which is not among them.
#[derive(Clone, Copy, Debug)]
pub struct StackBounds {
    /// The lowest address.
    pub begin: usize,
    /// The address after the highest.
    pub end: usize,
}

impl StackBounds {
    /// Returns `true` if the address is on the stack.
    #[inline(always)]
    pub fn contains(self, address: usize) -> bool {
        address >= self.begin && address < self.end
    }

    /// Returns the size in bytes.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.end.wrapping_sub(self.begin)
    }
}
