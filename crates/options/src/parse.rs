//! From the text of the options to a request.

use crate::error::OptionError;
use crate::lookup::find;
use crate::rows::Options;
use crate::settings::Settings;

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
