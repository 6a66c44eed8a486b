//! The object graph of an HPROF heap dump: the objects that are alive, the objects that keep them alive, and the stacks
//! that allocated them.
//!
//! [`Dump::open`] maps a file, [`Heap::of`] reads the graph of one dump. Objects are numbered in the order of their
//! ids; all tables are indexed by these numbers.

mod areas;
mod classes;
mod contents;
mod diff;
mod dominators;
mod dump;
mod error;
mod graph;
mod groups;
mod heap;
mod histogram;
mod ids;
mod index;
mod keeping;
mod label;
mod layout;
mod leaks;
mod locate;
mod mapping;
mod memory;
mod names;
mod objects;
mod paths;
mod progress;
mod records;
mod references;
mod show;
mod summary;
mod walk;
mod waste;

pub use areas::Area;
pub use diff::{Change, diff};
pub use dump::Dump;
pub use error::Error;
pub use groups::{By, Group};
pub use heap::{Heap, Options};
pub use histogram::{Histogram, Row, histogram};
pub use keeping::{Keeping, Retained};
pub use label::{Holder, Label, Reference};
pub use layout::{Known, Layout, LayoutError};
pub use leaks::{Allocated, Kept, Leaks, Suspect, SuspectKind};
pub use memory::{Memory, is_asking};
pub use names::Stack;
pub use paths::{Path, PathStep, Target, root_name};
pub use progress::{Progress, Silent, Stage};
pub use references::{Excluded, ExcludedError};
pub use show::{Named, Shown};
pub use summary::{FrameRow, LocalRow, ObjectRow, Summary, ThreadRow};
pub use walk::{ClassRow, Field, ObjectRecord, Place, Visitor, Walk};
pub use waste::{Duplicate, Fill, Unfilled, Waste, Wasted};
