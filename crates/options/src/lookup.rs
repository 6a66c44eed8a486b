//! An option's row by its name.

use crate::error::OptionError;
use crate::rows::{Options, ROWS};
use crate::table::OptionRow;

/// Returns the row of the option `name`. The error names `option`, the text that has the name.
pub fn find(name: &str, option: &str) -> Result<&'static OptionRow<Options>, OptionError> {
    ROWS.iter()
        .find(|row| row.name == name)
        .ok_or_else(|| unknown(name, option))
}

fn unknown(name: &str, option: &str) -> OptionError {
    let option = option.to_owned();
    let documented = ROWS.iter().filter(|row| !row.description.is_empty());
    match hprof_format::nearest(name, documented.map(|row| row.name)) {
        Some(nearest) => OptionError::Misspelt { option, nearest },
        None => OptionError::Unknown(option),
    }
}
