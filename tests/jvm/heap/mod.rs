//! The heap: what is allocated, what is alive, and dumps of it.

pub(crate) mod births;
pub(crate) mod counts;
pub(crate) mod dump;
pub(crate) mod growth;
pub(crate) mod heap_graph;
pub(crate) mod heap_json;
pub(crate) mod heapfile;
pub(crate) mod killed_dumps;
pub(crate) mod lifetimes;
pub(crate) mod oom;
pub(crate) mod redact;
pub(crate) mod sites;
pub(crate) mod unloading;
