//! The native libraries of a process, as their files describe them: how the frames of functions are undone ([`Frames`]), what
//! the functions are called ([`Symbols`]), and where variables are ([`Variable`]).
//!
//! The files are foreign: whatever is in them, reading comes to an end, with memory in proportion to the file. Nothing here
//! runs in the signal handler; the rules that it needs are values ([`FrameRule`]), from which the agent makes its table.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

mod cpp_name;
mod debug_files;
mod demangled;
mod frames;
mod rule;
mod source;
mod symbols;
mod variables;

pub use demangled::as_one_word;
pub use frames::{Entry, Frames, Segment};
pub use rule::{FrameRule, Saved};
pub use source::Source;
pub use symbols::Symbols;
pub use variables::{Exported, Variable};
