//! The end of the process by `exit`.

/// Does nothing. A library hears of the end when all other threads are gone, with locks that they may have held, so nothing could be
/// written.
pub(crate) fn at_exit(_function: extern "C" fn()) {}

/// Returns `false`: nothing is called at the end.
pub(crate) fn vm_calls_exit() -> bool {
    false
}
