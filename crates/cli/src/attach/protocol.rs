//! The limits of what is sent to a VM, and of what it answers.

/// The most bytes of an argument.
pub const LONGEST_ARGUMENT: usize = 1024;
/// The most bytes of an answer.
pub const LONGEST_ANSWER: u64 = 64 << 10;
