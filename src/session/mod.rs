//! One profile in the life of the VM: its beginning, its threads, its dumps and its end.
//!
//! A VM sees several, one after the other, when profiles are started and stopped by attaching. `lifecycle` begins and ends
//! them; `state` is the session itself; `events` lets the VM's events in to the one that runs; `threads` gives out serial
//! numbers; `reports` makes dumps; `last_resort` is the end where the VM does not tell of it; `destination` is an output,
//! and `periods` changes it (`rotate=`); `listener` is the connection of whoever takes the profile over the network, and
//! `commands` carries out what comes on it; `status` says what is going on; `owner` is what a session leaves to the agent around it.

mod commands;
mod destination;
mod events;
mod last_resort;
mod lifecycle;
mod listener;
mod owner;
mod periods;
mod reports;
mod state;
mod status;
mod threads;

pub use destination::Destination;
pub use events::begin;
pub use lifecycle::{NotBegun, is_running, request_dump, start_attached, status, stop};
pub use listener::Receiver;
pub use owner::Owner;
pub use state::Session;
pub use status::Status;
