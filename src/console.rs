//! What the agent says to the user on the terminal.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Says one line. A program without a stderr must not suffer, so a failure is nobody's concern.
pub fn line(message: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "hprof: {message}");
}

/// Says something as the original did, without a mark of who speaks.
pub fn plain(message: Arguments<'_>) {
    let _ = io::stderr().write_fmt(message);
}

/// Prints the usage text, which is the one thing that goes to stdout.
pub fn to_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
