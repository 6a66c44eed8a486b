//! The tracked objects, and which of them are alive: `live_objects` holds weak references to new ones in chunks and to
//! older ones in cohorts, `sweep` examines them after a collection.

mod chunk;
mod cohorts;
mod live_objects;
mod sweep;
mod tracked;

pub(super) use chunk::Chunk;
pub(super) use live_objects::{LiveObjects, Nursery, ObjectAges, SWEEP_TIMEOUT};
pub(super) use sweep::Sweep;
pub(super) use tracked::{Kind, Tracked};
