//! The console that the standard output is.

use std::io;

/// Returns its number of columns; `None` if that is not known.
#[must_use]
pub fn width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// Returns `true` if it shows colours, which are switched on: consoles before Windows 10 do not.
#[must_use]
pub fn shows_colours() -> bool {
    anstyle_query::windows::enable_ansi_colors().unwrap_or(false)
}
