//! The size of the ids in a file.

/// The size of an id in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSize {
    /// Four, as the JDK's own agent wrote on every machine.
    Four,
    /// Eight.
    Eight,
}

impl IdSize {
    /// Returns the size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            IdSize::Four => 4,
            IdSize::Eight => 8,
        }
    }

    /// As [`IdSize::bytes`], for positions in memory.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            IdSize::Four => 4,
            IdSize::Eight => 8,
        }
    }
}
