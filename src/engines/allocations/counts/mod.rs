//! Counts of what a program allocates between two of its points: `io.hprof.Hprof.count()`.
//!
//! `thread_counts` counts on one thread, in its allocation events; `all_threads` compares the site table with what it was;
//! `compilers` keeps the VM's compilers from removing allocations, and `rows` is the form in which a count goes to Java.
//! `counting` answers the calls.

mod all_threads;
mod compilers;
mod rows;
mod thread_counts;

pub(super) use all_threads::AllThreadsCounts;
pub(super) use compilers::Compilers;
pub(super) use rows::{Row, text};
pub(super) use thread_counts::{CountId, SiteAmounts, ThreadCounts};
