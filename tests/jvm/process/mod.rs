//! The process as a whole: its memory, its end, and what else is in it.

pub(crate) mod black_box;
pub(crate) mod exits;
pub(crate) mod footprint;
pub(crate) mod memory;
pub(crate) mod native_memory;
pub(crate) mod real_programs;
pub(crate) mod soak;
pub(crate) mod storm;
