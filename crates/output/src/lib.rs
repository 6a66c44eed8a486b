//! The output: records in their required order, encoded, and written by a thread of their own; and the messages to the
//! user.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod announced;
#[cfg_attr(windows, path = "black_box/windows.rs")]
mod black_box;
#[cfg_attr(windows, path = "client/windows.rs")]
mod client;
pub mod console;
mod entry;
mod file;
mod gzip;
mod journal;
#[cfg_attr(windows, path = "open/windows.rs")]
mod open;
#[cfg_attr(windows, path = "pipe_windows.rs")]
mod pipe;
mod queue;
pub mod serials;
mod settings;
mod sink;
mod slow_reader;
mod socket;
#[cfg_attr(windows, path = "socket_send_windows.rs")]
mod socket_send;
#[doc(hidden)]
pub mod testing;
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
