//! The agent in real JVMs, with one process for each: each test runs a Java program whose expected result is known (it
//! is in the program's first comment, in `java-tests/`) and compares the profile with it.
//!
//! `scripts/test` passes the paths of the JVMs, the agent and the readers; without it the tests find them.

#[macro_use]
mod cells;

mod command;
mod coverage;
mod cpu;
mod harness;
mod heap;
mod output;
mod process;
mod profile;
mod vms;
mod waiting;
