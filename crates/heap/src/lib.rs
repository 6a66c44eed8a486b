//! The object graph of an HPROF heap dump: what is kept, by whom, and who allocated it.
//!
//! [`Dump::open`] maps a file, [`Heap::of`] reads the graph of one dump. Objects are numbered in the order of their ids;
//! all tables are indexed by these numbers.

mod classes;
mod dominators;
mod dump;
mod error;
mod graph;
mod heap;
mod ids;
mod index;
mod layout;
mod mapping;
mod memory;
mod names;
mod objects;
mod progress;
mod records;
mod references;

pub use dump::Dump;
pub use error::Error;
pub use heap::{Heap, Options};
pub use layout::{Known, Layout, LayoutError};
pub use memory::Memory;
pub use progress::{Progress, Silent, Stage};
pub use references::{Excluded, ExcludedError};
