//! Options that a system lacks.

use options::{OptionError, Options};

/// Succeeds: Linux has all of them.
pub(crate) fn check(_: &Options) -> Result<(), OptionError> {
    Ok(())
}
