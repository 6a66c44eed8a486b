//! The costs in an HPROF file, as one model: stacks with values, units and labels.
//!
//! [`load`] reads a file in either format. Everything that shows, compares, merges or converts profiles works on
//! [`Profile`], so that no two views disagree about a sum.
//!
//! # Example
//!
//! ```
//! use hprof_profile::{By, Metric, Wanted, costs, load};
//!
//! let file = "\
//! JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026
//! TRACE 300001:
//! \tShop.price(Shop.java:7)
//! \tShop.main(Shop.java:3)
//! CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:39:12 2026
//! rank   self  accum   count trace method
//!    1 100.00% 100.00%      10 300001 Shop.price
//! CPU SAMPLES END
//! ";
//! let loaded = load(file.as_bytes(), Wanted::Last)?;
//! let costs = costs(&loaded.profile, Metric::Cpu, By::Method);
//! assert_eq!((costs[0].name.as_str(), costs[0].own), ("Shop.price", 10));
//! assert_eq!((costs[1].name.as_str(), costs[1].own, costs[1].total), ("Shop.main", 0, 10));
//! # Ok::<(), hprof_profile::LoadError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

pub mod export;

mod agent_time;
mod basis;
mod comparable;
mod cut;
mod dense;
mod diff;
mod group;
mod growth;
mod idle;
mod interval;
mod jfr;
mod load;
mod locks;
mod markers;
mod merge;
mod metric;
mod model;
mod names;
mod number;
mod own_code;
mod records;
mod remarks;
mod steps;
mod threads;
mod times;
mod top;
mod tree;
mod write;

pub use basis::Basis;
pub use comparable::stable_class;
pub use diff::{Change, Costs, Scale, changes};
pub use group::{By, Groups, UnknownBy};
pub use growth::{Growth, Judgement, MANY_POINTS, NoGrowth, growth};
pub use idle::WAITS_FOR_WORK;
pub use interval::{CommonInterval, UnknownInterval};
pub use load::{LoadError, Loaded, load};
pub use locks::{HOLDER_METHODS, Wait};
pub use merge::{Added, Merger};
pub use metric::{Metric, Unit, UnknownMetric};
pub use model::{
    Course, Frame, FrameId, FrameKind, HeapDumpForm, History, Labels, LabelsId, Profile, Sample,
    SiteAge, SiteCourse, Span, StackId, Stacks, Table, Timeline, TimelineRow,
};
pub use names::{Name, Names};
pub use number::grouped;
pub use own_code::{OwnCode, WELL_KNOWN};
pub use records::Records;
pub use records::Wanted;
pub use remarks::Remark;
pub use times::NotWithin;
pub use top::{Cost, costs, costs_of_samples};
pub use tree::{Direction, Node, Tree};
pub use write::{Form, WriteError, write};
