//! What the agent says to the user on the terminal.
//!
//! Every line is one write, so that no other line of the program's gets into it. Names that a line quotes can be those of
//! strangers, so nothing in it is an escape sequence.

use std::fmt::Arguments;
use std::io::{self, Write};

use hprof_format::printable;

/// Says one line.
pub fn line(message: Arguments<'_>) {
    plain(&format!("hprof: {message}"));
}

/// Says one line as the original did, without a mark of who speaks. A program without a stderr must not suffer, so a
/// failure is nobody's concern.
pub fn plain(line: &str) {
    let _ = io::stderr().write_all(format!("{}\n", printable(line)).as_bytes());
}

/// Says several lines, in one write.
pub fn lines(text: &str) {
    let lines: Vec<_> = text.lines().map(printable).collect();
    let _ = io::stderr().write_all(format!("hprof: {}\n", lines.join("\n")).as_bytes());
}

/// Prints the usage text, which is the one thing that goes to stdout.
pub fn to_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
