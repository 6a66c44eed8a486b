//! The decisions that a session leaves to its creator.

use std::path::Path;

use super::destination::Destination;
use crate::jvmti::Jni;
use crate::output::Writer;

/// The decisions that a session leaves to its creator. Called on threads of the agent, and on the thread that ends the VM.
pub trait Owner: Send + Sync {
    /// Opens the output of the next period. If it cannot, it reports why and returns `None`.
    fn open_next(&self) -> Option<(Destination, Writer)>;

    /// An output has been closed: this file, or `None` for a receiver. `is_whole` if everything could be written.
    fn closed(&self, file: Option<&Path>, is_whole: bool);

    /// `timeout=` has passed: ends the session, if `is_running` still answers `true`.
    fn time_is_up(&self, jni: Jni<'_>, is_running: &dyn Fn() -> bool);

    /// Everything has been written.
    fn ended(&self);
}
