//! The agent in real JVMs, with one process for each: each test runs a Java program whose expected result is known (it
//! is in the program's first comment, in `java-tests/`) and compares the profile with it.
//!
//! `scripts/test` passes the paths of the JVMs, the agent and the readers; without it the tests find them.

#[macro_use]
mod cells;

mod aot_cache;
mod async_samples;
mod attach;
mod binary;
mod births;
mod black_box;
mod book;
mod bundle;
mod collectors;
mod counts;
mod coverage;
mod dump;
mod exits;
mod failures;
mod footprint;
mod growth;
mod handler;
mod harness;
mod head;
mod heap_graph;
mod heap_json;
mod heapfile;
mod instrument;
mod jfr;
mod killed_dumps;
mod known_stacks;
mod lifetimes;
mod live;
mod lock_order;
mod mcp;
mod memory;
mod messages;
mod monitor;
mod native_frames;
mod native_memory;
mod net;
mod oom;
mod options;
mod other_vms;
mod output_files;
mod packages;
mod periods;
mod profile;
mod readers;
mod real_programs;
mod record;
mod redact;
mod sample_times;
mod samples;
mod schemas;
mod signals;
mod sites;
mod soak;
mod stacks;
mod storm;
mod suspend;
mod tables;
mod threads;
mod times;
mod unloading;
mod wall;
