//! Reads recordings: chunk by chunk, each event by the description that its chunk has of it.

mod chunk;
mod chunks;
mod value;

pub use chunk::Chunk;
pub use chunks::{Chunks, Events};
pub use value::{Constant, Event, Struct, Value, Values};
