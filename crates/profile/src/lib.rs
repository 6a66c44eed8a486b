//! The costs in an HPROF file, as one model: stacks with values, units and labels.
//!
//! [`load`] reads a file in either format. Everything that shows, compares, merges or converts profiles works on
//! [`Profile`], so that no two views disagree about a sum.

#![forbid(unsafe_code)]

pub mod export;

mod comparable;
mod diff;
mod group;
mod load;
mod merge;
mod metric;
mod model;
mod names;
mod records;
mod top;
mod tree;
mod write;

pub use comparable::stable_class;
pub use diff::{Change, Costs, changes, scaled};
pub use group::{By, Groups, UnknownBy};
pub use load::{LoadError, Loaded, Wanted, load};
pub use merge::{Added, Merger};
pub use metric::{Metric, Unit, UnknownMetric};
pub use model::{
    Frame, FrameId, FrameKind, Labels, LabelsId, Profile, Sample, StackId, Stacks, Table,
};
pub use names::{Name, Names};
pub use records::Records;
pub use top::{Cost, costs};
pub use tree::{Direction, Node, Tree};
pub use write::{Form, WriteError, write};
