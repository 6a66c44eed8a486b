//! The output: records in the order in which they must stand, encoded, and written by a thread of their own.

mod file;
mod gzip;
mod journal;
mod open;
pub mod serials;
mod sink;
mod socket;
mod traces;
mod writer;

pub use file::FileSink;
pub use gzip::GzipSink;
pub use journal::{Entry, Journal, Settings, ThreadNames};
pub use open::FileError;
pub use sink::Sink;
pub use socket::SocketSink;
pub use traces::traces;
pub use writer::{Records, Writer};

#[cfg(test)]
pub(crate) use journal::tests;
