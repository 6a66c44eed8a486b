//! How a command ends when it does not end well.

use std::io;
use std::path::Path;

/// Why a command stopped.
pub enum Failure {
    /// Whoever reads the standard output has had enough (`| head`): nothing to complain about.
    ReaderGone,
    /// One line that says what is wrong.
    Message(String),
    /// A condition of `hprof diff --fail-if` holds: one line that says which.
    Condition(String),
}

impl Failure {
    /// `subject` is a file's name, or where the standard streams are meant, theirs.
    pub fn about(subject: &Path, what: impl std::fmt::Display) -> Failure {
        Failure::Message(format!("{}: {what}", subject.display()))
    }

    /// What is said of it.
    pub fn message(&self) -> Option<&str> {
        match self {
            Failure::ReaderGone => None,
            Failure::Message(message) | Failure::Condition(message) => Some(message),
        }
    }

    /// A write to `output` failed.
    pub fn writing(output: &Path, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::about(output, error),
        }
    }
}
