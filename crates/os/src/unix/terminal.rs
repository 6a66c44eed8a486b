//! The terminal that the standard output is.

use std::io;

use rustix::termios::tcgetwinsize;

/// Returns its number of columns; `None` if that is not known.
#[must_use]
pub fn width() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col))
}

/// Returns `true` if it shows colours: those of this system do.
#[must_use]
pub fn shows_colours() -> bool {
    true
}
