//! The decisions that a session leaves to its creator.

use std::path::{Path, PathBuf};

use super::destination::{BlackBoxOutput, Destination};
use super::exhaustion::Exhausted;
use jvmti::Jni;
use output::Writer;

/// The decisions that a session leaves to its creator. Called on threads of the agent, and on the thread that ends the VM.
pub trait Owner: Send + Sync {
    /// Opens the output of the next period. If it cannot, it reports why and returns `None`.
    fn open_next(&self) -> Option<(Destination, Writer)>;

    /// Returns `true` if [`Owner::open_exhausted`] has a place for its files: the profile goes to a plain file.
    fn has_place_for_exhausted(&self) -> bool;

    /// Opens the file that is written when the program has run out of something (`oom=`), with that in its head. If it
    /// cannot, it reports why and returns `None`.
    fn open_exhausted(&self, exhausted: &Exhausted) -> Option<(PathBuf, Writer)>;

    /// Opens the file of `blackbox=`. If it cannot, it reports why and returns `None`.
    fn open_black_box(&self) -> Option<BlackBoxOutput>;

    /// An output has been closed: this file, or `None` for a receiver. `is_whole` if everything could be written.
    fn closed(&self, file: Option<&Path>, is_whole: bool);

    /// `timeout=` has passed: ends the session, if `is_running` still answers `true`.
    fn time_is_up(&self, jni: Jni<'_>, is_running: &dyn Fn() -> bool);

    /// The `hprof live` that the session is for has gone: ends the session, if `is_running` still answers `true`.
    fn client_has_gone(&self, jni: Jni<'_>, is_running: &dyn Fn() -> bool);

    /// Everything has been written.
    fn ended(&self);
}
