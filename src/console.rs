//! What the agent says to the user on the terminal.
//!
//! Every line is one write, so that no other line of the program's gets into it.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Says one line.
pub fn line(message: Arguments<'_>) {
    plain(&format!("hprof: {message}"));
}

/// Says one line as the original did, without a mark of who speaks. A program without a stderr must not suffer, so a
/// failure is nobody's concern.
pub fn plain(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints the usage text, which is the one thing that goes to stdout.
pub fn to_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
