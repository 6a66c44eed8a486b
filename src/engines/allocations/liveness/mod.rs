//! The tracked objects, and which of them are alive: `live_objects` holds weak references to them in two generations,
//! `sweep` examines them after a collection.

mod live_objects;
mod sweep;

pub(super) use live_objects::{Chunk, LiveObjects, Nursery};
pub(super) use sweep::{Sweep, Tracked};
