//! One profile in the life of the VM: its beginning, its threads, its dumps and its end.
//!
//! A VM sees several, one after another, when profiles are started and stopped by attaching. `lifecycle` begins and
//! ends them; `state` is the session itself; `events` passes the VM's events to the one that runs; `threads` assigns
//! serial numbers; `dumps` knows when a dump is made, `reports` makes it, and `heap_file` makes one of the heap alone;
//! `out_of_memory` writes a file when the program is out of it, as `exhaustion` notes; `snapshots` writes what is known
//! into the `black_box` every second, with the process's `growth` and its `footprint`, of which `memory_looks` keeps some
//! for the profile; `last_resort` handles an end without an event from the VM; `destination` is an output, `periods` moves
//! on to the next one (`rotate=`), and `clocks` has the threads that wait for a time; `listener` is the connection of a
//! receiver, and `commands` carries out what it sends; `counts` answers a program that counts what it allocates, and
//! `live` an `hprof live`; `status` is what `hprof status` shows; `owner` is what a session leaves to the agent around it.

mod black_box;
mod clocks;
mod commands;
mod counts;
mod destination;
mod dumps;
mod events;
mod exhaustion;
mod footprint;
mod growth;
mod heap_file;
mod last_resort;
mod lifecycle;
mod listener;
mod live;
mod memory_looks;
mod out_of_memory;
mod owner;
mod periods;
mod reports;
mod snapshots;
mod state;
mod status;
mod threads;

pub use counts::{CountError, begin_count, end_count, live_of_count};
pub use destination::{BlackBoxOutput, Destination};
pub use events::begin;
pub use exhaustion::Exhausted;
pub use footprint::account;
pub use heap_file::{HeapFile, dump_heap};
pub use lifecycle::{
    NoHeap, NotBegun, check_heap, is_running, request_dump, start_attached, status, stop,
};
pub use owner::Owner;
pub use state::Session;
pub use status::{Status, cpu_of_process};
