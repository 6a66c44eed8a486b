//! The agent in real JVMs, one JVM a process: each test runs a Java program whose right answer is known (it stands in
//! the program's first comment, in `java-tests/`) and compares the profile with it.
//!
//! `scripts/test` says where the JVMs, the agent and the readers are; without it the tests look for themselves.

#[macro_use]
mod cells;

mod async_samples;
mod attach;
mod binary;
mod book;
mod collectors;
mod dump;
mod exits;
mod failures;
mod handler;
mod harness;
mod head;
mod heap_graph;
mod heapfile;
mod instrument;
mod lock_order;
mod memory;
mod messages;
mod monitor;
mod net;
mod options;
mod other_vms;
mod output_files;
mod packages;
mod periods;
mod profile;
mod readers;
mod real_programs;
mod samples;
mod sites;
mod soak;
mod stacks;
mod tables;
mod threads;
mod times;
mod unloading;
