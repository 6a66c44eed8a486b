//! The output: records in their required order, encoded, and written by a thread of their own.

mod announced;
mod black_box;
mod client;
mod entry;
mod file;
mod gzip;
mod journal;
mod open;
mod pipe;
mod queue;
pub mod serials;
mod settings;
mod sink;
mod slow_reader;
mod socket;
mod traces;
mod writer;

pub use announced::{KeptThreads, ThreadNames};
pub use black_box::{BlackBoxFile, NoBlackBox, SnapshotBuffer};
pub use client::{ClientRequests, ClientSink};
pub use entry::Entry;
pub use file::FileSink;
pub use gzip::GzipSink;
pub use journal::Journal;
pub use open::{FileError, create_private, may_be_replaced};
pub use settings::ControlSettings;
pub use sink::Sink;
pub use socket::SocketSink;
pub use traces::traces;
pub use writer::{Records, Writer, now};

#[cfg(test)]
pub(crate) use journal::tests;
