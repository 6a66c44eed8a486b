//! What an account looks at in the memory of the process itself.

use std::ops::Range;

/// The memory of the process that is accounted for.
pub trait Memory {
    /// Returns the word at an address; `None` if it cannot be read.
    fn word(&self, address: usize) -> Option<usize>;
    /// Returns the bytes of pages in a range that are in RAM; what is no longer mapped has none.
    fn resident(&self, range: Range<usize>, contents: Contents) -> Resident;
    /// Returns the resident set as the system gives it in a single number.
    fn system_resident(&self) -> Option<u64>;
}

/// What a range of memory has, by which its pages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Private memory without a file whose user writes before it reads, which is cheaper to count.
    Written,
    /// Pages of a file, or what was written in their place.
    File,
    /// Anything.
    Unknown,
}

/// Bytes of pages in RAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Those that count in the resident set.
    pub certain: u64,
    /// Those that count if they were written, and are shared with a process forked since; and do not if they were only read: the
    /// kernel's page of zeros, which all processes share, is in their place then.
    pub doubtful: u64,
}

#[cfg(test)]
pub mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Words at their addresses, of which nothing is in RAM.
    #[derive(Default)]
    pub struct Words(pub HashMap<usize, usize>);

    impl Memory for Words {
        fn word(&self, address: usize) -> Option<usize> {
            self.0.get(&address).copied()
        }

        fn resident(&self, _: Range<usize>, _: Contents) -> Resident {
            Resident::default()
        }

        fn system_resident(&self) -> Option<u64> {
            None
        }
    }
}
