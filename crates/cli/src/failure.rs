//! The ways in which a command fails.

use std::io;
use std::path::Path;

/// The reason a command stopped.
pub enum Failure {
    /// The reader of the standard output has closed it (`| head`): not an error.
    ReaderGone,
    /// One line with the error.
    Message(String),
    /// A condition of `hprof diff --fail-if` holds: one line with the condition.
    Condition(String),
    /// The command line has to be changed: one line with what would be right.
    Usage(String),
}

impl Failure {
    /// Creates a message about a file, or about a standard stream for `-`.
    pub fn about(subject: &Path, what: impl std::fmt::Display) -> Failure {
        Failure::Message(format!("{}: {what}", subject.display()))
    }

    /// Returns the message to print.
    pub fn message(&self) -> Option<&str> {
        match self {
            Failure::ReaderGone => None,
            Failure::Message(message) | Failure::Condition(message) | Failure::Usage(message) => {
                Some(message)
            }
        }
    }

    /// Creates the failure of a write to `output`.
    pub fn writing(output: &Path, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::about(output, error),
        }
    }
}
