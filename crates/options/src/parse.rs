//! From the text of the options to a request.

use crate::error::OptionError;
use crate::rows::{Options, ROWS};
use crate::settings::Settings;
use crate::table::OptionRow;

/// The action that the options request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Print the usage text and exit.
    Help,
    /// Measure.
    Profile(Box<Options>),
}

/// Parses the options of the command line, followed by those of the environment variable `_JAVA_HPROF_OPTIONS`.
pub fn parse(command_line: &str, environment: Option<&str>) -> Result<Request, OptionError> {
    let mut settings = Settings::default();
    let all = command_line.split(',').chain(
        environment
            .into_iter()
            .flat_map(|options| options.split(',')),
    );
    for option in all.filter(|option| !option.is_empty()) {
        if option == "help" {
            return Ok(Request::Help);
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        settings.give(find(name, option)?, value)?;
    }
    settings
        .finish()
        .map(|options| Request::Profile(Box::new(options)))
}

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
