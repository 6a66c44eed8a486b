//! The names of the program that the agent has met, one table per file. No table calls the VM. Counters belong to the
//! engines.
//!
//! Each table assigns small typed ids and keeps their values until the session is over, so a method of an unloaded
//! class still has its name. The serial numbers of the output are computed from the ids when records are written.
//!
//! While a table's lock is held, nothing outside this folder is called except closures that callers pass.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
// What grows asks for its memory, which tests need not: see `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_types))]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod class;
pub mod frame;
pub mod intern;
pub mod loader;
mod numbered;
pub mod object;
pub mod string;
pub mod thread;
pub mod trace;

/// All tables.
#[derive(Default)]
pub struct Tables {
    /// Names.
    pub strings: string::Strings,
    /// Class loaders.
    pub loaders: loader::Loaders,
    /// Classes.
    pub classes: class::Classes,
    /// Frames.
    pub frames: frame::Frames,
    /// Traces.
    pub traces: trace::Traces,
    /// Threads.
    pub threads: thread::Threads,
    /// Objects.
    pub objects: object::Objects,
}
