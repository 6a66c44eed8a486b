//! The agent's options: `name=value`, separated by commas, as on the command line of the original HPROF.
//!
//! `rows` is the one list of them, with their values, defaults, help lines, scopes and setters, from which `declare` makes
//! [`Options`]; `table` is the form of its rows; `parse` is the way from the text to them; `values` reads times and sizes; `help` is
//! the usage text; `file_name` turns `file=` into a path; `command` parses commands to a running VM.
//!
//! # Example
//!
//! ```
//! use hprof_options::{Cpu, Request, parse};
//!
//! let Request::Profile(options) = parse("cpu=samples,depth=8", None)? else {
//!     panic!("these options ask for a profile");
//! };
//! assert_eq!(options.cpu, Some(Cpu::Samples));
//! assert_eq!(options.depth, 8);
//!
//! let error = parse("dept=8", None).unwrap_err();
//! assert!(error.to_string().contains("did you mean depth?"));
//! # Ok::<(), hprof_options::OptionError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod address;
mod command;
mod declare;
mod error;
mod file_name;
mod help;
mod options;
mod parse;
mod rows;
mod table;
mod values;

pub use address::Address;
pub use command::{Command, Verb, command, forks};
pub use error::OptionError;
pub use file_name::{Surroundings, companion_path, with_number};
pub use help::{describe, help};
pub use parse::{Request, parse};
// `Options` and the types of its values.
pub use rows::*;
pub use values::{NativeMemory, Rotate};

#[cfg(test)]
mod page;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
