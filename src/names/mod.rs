//! The names of the program that the agent has met, one table a file. No table calls the VM. Counters belong to the engines.
//!
//! Each table gives out small typed ids and keeps what they stand for until the session is over, so a method of a class
//! that was unloaded still has its name. The serial numbers of the output are made from the ids when records are
//! written.
//!
//! Nothing outside this folder is called with a table's lock held, but closures that the callers pass.

mod chunk;
pub mod class;
pub mod frame;
pub mod intern;
pub mod loader;
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
