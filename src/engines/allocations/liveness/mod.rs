//! The tracked objects, and which of them are alive: each thread has a `nursery` for new ones, `live_objects` holds weak references
//! to full chunks of these and to older ones in cohorts, `sweep` examines them after a collection.

mod cohorts;
mod kind;
mod live_objects;
mod nursery;
mod sweep;

pub(super) use kind::Kind;
pub(super) use live_objects::{LiveObjects, ObjectAges, SWEEP_TIMEOUT};
pub(super) use nursery::{Chunk, Nursery, Tracked};
pub(super) use sweep::Sweep;
