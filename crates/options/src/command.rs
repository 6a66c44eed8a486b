//! Commands to a running VM: `start`, `dump`, `stop` or `status`, then the file for the answer, then options.

use std::path::Path;

use crate::error::OptionError;

/// The action of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Begin a profile.
    Start,
    /// Write what the profile has so far.
    Dump,
    /// End the profile.
    Stop,
    /// Say what is going on.
    Status,
}

const VERBS: [(&str, Verb); 4] = [
    ("start", Verb::Start),
    ("dump", Verb::Dump),
    ("stop", Verb::Stop),
    ("status", Verb::Status),
];

/// A parsed command.
#[derive(Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The action; options without a verb start a profile.
    pub verb: Verb,
    /// `reply=`, directly after the verb: a file for the answer.
    pub reply: Option<&'a Path>,
    /// The rest of the text.
    pub options: &'a str,
}

/// Splits a command into its parts.
pub fn command(text: &str) -> Command<'_> {
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let Some(&(_, verb)) = VERBS.iter().find(|(name, _)| *name == first) else {
        return Command {
            verb: Verb::Start,
            reply: None,
            options: text,
        };
    };
    let (second, after) = rest.split_once(',').unwrap_or((rest, ""));
    match second.strip_prefix("reply=") {
        Some(path) => Command {
            verb,
            reply: Some(Path::new(path)),
            options: after,
        },
        None => Command {
            verb,
            reply: None,
            options: rest,
        },
    }
}

/// Refuses options after a verb that takes none.
pub fn refuse_options(command: &Command<'_>) -> Result<(), OptionError> {
    if command.options.is_empty() {
        return Ok(());
    }
    let verb = VERBS.iter().find(|(_, verb)| *verb == command.verb);
    Err(OptionError::BehindVerb {
        verb: verb.map_or("", |(name, _)| name),
        option: command.options.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_stands_first() {
        for (text, verb, reply, options) in [
            ("", Verb::Start, None, ""),
            (
                "cpu=samples,file=x",
                Verb::Start,
                None,
                "cpu=samples,file=x",
            ),
            ("start,cpu=samples", Verb::Start, None, "cpu=samples"),
            (
                "start,reply=/r,cpu=y,depth=1",
                Verb::Start,
                Some("/r"),
                "cpu=y,depth=1",
            ),
            ("dump", Verb::Dump, None, ""),
            ("stop,reply=/tmp/r", Verb::Stop, Some("/tmp/r"), ""),
            ("status,cpu=y", Verb::Status, None, "cpu=y"),
            ("cpu=samples,stop", Verb::Start, None, "cpu=samples,stop"),
            ("stopp", Verb::Start, None, "stopp"),
        ] {
            let reply = reply.map(Path::new);
            let expected = Command {
                verb,
                reply,
                options,
            };
            assert_eq!(command(text), expected, "{text}");
        }
    }

    #[test]
    fn only_start_takes_options() {
        assert_eq!(refuse_options(&command("dump")), Ok(()));
        let refused = refuse_options(&command("stop,file=x")).expect_err("an option");
        assert_eq!(
            refused.to_string(),
            "unknown option file=x: 'stop' takes none"
        );
    }
}
