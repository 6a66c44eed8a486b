//! The fuzz targets: each takes bytes that a stranger may have made, and panics if the product is wrong.
//!
//! `fuzz/fuzz_targets` runs them under libFuzzer (`scripts/fuzz`); `tests/seeds.rs` replays the seeds and earlier
//! findings, with the tests of the workspace.
//!
//! # Example
//!
//! ```
//! // A target takes whatever it is given; it would panic where the product is wrong.
//! for (_, target) in hprof_fuzz_targets::TARGETS {
//!     target(b"JAVA PROFILE 1.0.2\0");
//! }
//! ```

#![forbid(unsafe_code)]

mod classes;
mod files;
mod indexes;
mod libraries;
mod recordings;
mod requests;

pub use classes::instrumenter;
pub use files::{black_box, checker, reader, redactor, text, text_reader};
pub use indexes::index;
pub use libraries::library;
pub use recordings::recording;
pub use requests::{commands, options};

/// A target.
pub type Target = fn(&[u8]);

/// All targets, by the names of their binaries and of the folders with their seeds.
pub const TARGETS: [(&str, Target); 12] = [
    ("black_box", black_box),
    ("reader", reader),
    ("recording", recording),
    ("checker", checker),
    ("redactor", redactor),
    ("text", text),
    ("text_reader", text_reader),
    ("instrumenter", instrumenter),
    ("index", index),
    ("library", library),
    ("options", options),
    ("commands", commands),
];
