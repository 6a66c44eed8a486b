//! `heap=sites|dump|all`: every object that the program allocates, the stack that allocated it, and whether it is
//! alive.
//!
//! The VM sends an event for each allocation, on the allocating thread. That thread's cache finds the site by the top
//! of the stack, and the thread's nursery keeps a weak reference to the object. After a collection a thread of the
//! agent finds out which objects have died.
//!
//! `tracker` is the engine, `state` what its parts share, `sites` the table of sites. The way of an allocation goes through
//! `cache` to `liveness`, and that of a report through `report`; `origins` answers heap dumps, and `counting` a program that
//! counts what it allocates.

mod budget;
mod buffer_flags;
mod cache;
mod counting;
mod counts;
mod direct_buffers;
mod known;
mod late_attach;
mod lifetimes;
mod liveness;
mod origins;
mod report;
mod report_plan;
mod sample_weight;
mod sites;
mod state;
mod tracker;

pub use counting::{CountScope, NotCounted};
pub use origins::Origin;
pub use report::SitesRequest;
pub(super) use tracker::requirement;
pub use tracker::{AllocationTracker, report_heap_untracked, report_no_sites};
