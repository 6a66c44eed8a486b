//! Inserts calls into the methods of a class file: one at the entry of a method, one at each exit.
//!
//! It works on the bytes of class files, without a JVM. They call static methods of one class, the *tracker*, which
//! take the method's number:
//!
//! ```text
//!     entry(n)            before the first instruction; a jump back to it does not call it again
//!     ...
//!     exit(n); return     before each return
//!     ...
//!     catch any: exception_exit(n); throw it on
//! ```
//!
//! # What the receiver of the calls may rely on
//!
//! - Each activation that gets as far as its first instruction calls `entry` once. It does not if that very call fails
//!   (the stack is used up): then it calls nothing else either.
//! - Then it calls `exit` when it returns, or `exception_exit` when an exception leaves it, whoever threw it. The
//!   program's own handlers run first, so an exception that it catches itself is not seen. When `exit` itself fails,
//!   `exception_exit` follows; so `exit` and `exception_exit` must do their work wholly or throw before they begin.
//! - There are activations that call neither, and only these: a constructor whose `super(...)` or `this(...)` throws
//!   (the verifier allows no handler there), a constructor of a shape that no compiler makes, a method in which no
//!   instruction can throw when its thread is stopped from outside or `exit` fails, and one whose `exception_exit`
//!   fails. All are left by an exception. Whoever catches it may enter other methods before it leaves itself, so until
//!   then these seem to be called by the one that is gone. A shadow stack heals when a call of `exit` or
//!   `exception_exit` takes off everything above the nearest entry of its own method, and nothing if there is no such
//!   entry.
//! - A `synchronized` method calls `entry` when it has the lock, and `exit` or `exception_exit` before it gives it
//!   back.
//! - The calls take no lock and allocate nothing of their own in Java.
//!
//! # Example
//!
//! ```
//! use hprof_instrument::{Hooks, class_name, tracker_class};
//!
//! let hooks = Hooks {
//!     tracker: b"com/example/Tracker",
//!     entry: b"entry",
//!     exit: b"exit",
//!     exception_exit: b"exceptionExit",
//!     caught: None,
//!     leaf: None,
//! };
//! // The class whose native methods are called; `instrument` inserts the calls into any other class.
//! let tracker = tracker_class(&hooks);
//! assert_eq!(class_name(&tracker)?, b"com/example/Tracker");
//! # Ok::<(), hprof_instrument::Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod class;
mod code;
mod constructor;
mod counter;
mod descriptor;
mod error;
mod frames;
mod hooks;
mod instrumented;
mod layout;
mod method;
mod opcodes;
mod pool;
mod reader;
mod source;
mod tables;
mod tracker;

pub use class::{class_name, instrument, round_trip};
pub use counter::{CacheHash, CounterLayout, SlowHooks, counter_class};
pub use error::Error;
pub use hooks::{Hooks, LeafHooks};
pub use instrumented::{Instrumented, LeftOut, Reason};
pub use method::{ClassInfo, Method};
pub use source::source_file;
pub use tracker::tracker_class;

#[cfg(test)]
mod tests;
