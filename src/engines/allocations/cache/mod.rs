//! The fast path of an allocation: the sites that the allocating thread already knows, found without state that threads
//! share.
//!
//! `allocating_thread` is a thread's own state, and `tracked_threads` the list of the threads' states for everyone else. `site_cache` finds a site by the stack's key and the class, with
//! the tables `site_table` and `known_classes`.

mod allocating_thread;
mod known_classes;
mod site_cache;
mod site_table;
mod tracked_threads;

pub(super) use allocating_thread::AllocatingThread;
pub(super) use tracked_threads::TrackedThreads;
