//! Messages to the user on the terminal.
//!
//! Every line is a single write, so that the program's own lines do not mix with it. Names in a line can come from
//! strangers, so escape sequences are neutralized.

use std::fmt::Arguments;
use std::io::{self, Write};

use hprof_format::printable;

/// Prints one line with the agent's prefix.
pub fn line(message: Arguments<'_>) {
    plain(&format!("hprof: {message}"));
}

/// Prints one line as the original did, without a prefix. Failures are ignored: a program without a stderr must not
/// suffer.
pub fn plain(line: &str) {
    let _ = io::stderr().write_all(format!("{}\n", printable(line)).as_bytes());
}

/// Prints several lines, in one write.
pub fn lines(text: &str) {
    let lines: Vec<_> = text.lines().map(printable).collect();
    let _ = io::stderr().write_all(format!("hprof: {}\n", lines.join("\n")).as_bytes());
}

/// Prints the usage text, the only thing that goes to stdout.
pub fn to_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
