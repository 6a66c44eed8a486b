//! The memory of a JVM's process: one account whose parts add up to its resident set.
//!
//! Nothing here needs a JVM. The agent reads the system's list of mappings ([`mappings`]) and asks the VM where its own memory
//! is ([`VmLayout`]); [`Account::of`] gives each mapping, or each piece of one, to a [`Part`]. [`cgroup`] reads the limit that
//! the process is killed at. [`verdict()`] says what an account, or two of them, mean, and [`trend()`] when a limit is reached. An account is kept and sent as text.

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod account;
pub mod cgroup;
mod course;
mod malloc;
pub mod mappings;
mod memory;
mod part;
pub mod tasks;
mod text;
mod tracking;
mod trend;
mod verdict;

pub use account::{
    Account, Amounts, BufferSite, JavaHeap, LoaderKind, OwnMemory, TrackedKind, VmFacts, VmLayout,
};
pub use cgroup::Cgroup;
pub use course::{Course, Fate, Forecast};
pub use memory::{Contents, Memory, Resident};
pub use part::{Part, Parts};
pub use text::{BadAccount, decode, decode_all, encode, encode_all};
pub use tracking::{Tracking, TrackingVariables, VmVariable};
pub use trend::{Point, Trend, trend};
pub use verdict::{Finding, GrowingSite, Growth, verdict};
