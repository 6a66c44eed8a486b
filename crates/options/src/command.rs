//! Commands to a running VM: `start`, `dump`, `stop`, `status`, `memory` or `heap`, then the file for the answer, then options.

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
    /// Say where the memory of the process is.
    Memory,
    /// Dump the heap into a file of its own, while the profile continues.
    Heap,
}

const VERBS: [(&str, Verb); 6] = [
    ("start", Verb::Start),
    ("dump", Verb::Dump),
    ("stop", Verb::Stop),
    ("status", Verb::Status),
    ("memory", Verb::Memory),
    ("heap", Verb::Heap),
];

/// The option of a dump whose heap comes from a forked child.
const FORK: &str = "dumper=fork";

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

/// Returns `true` if a dump, or the one of a stop, is to have the heap from a forked child. That is the only option after a
/// verb but `start` and `heap`.
pub fn forks(command: &Command<'_>) -> Result<bool, OptionError> {
    let may_fork = matches!(command.verb, Verb::Dump | Verb::Stop);
    let verb = VERBS.iter().find(|(_, verb)| *verb == command.verb);
    match command.options {
        "" => Ok(false),
        FORK if may_fork => Ok(true),
        other => Err(OptionError::AfterVerb {
            verb: verb.map_or("", |(name, _)| name),
            allowed: if may_fork { FORK } else { "none" },
            option: other.to_owned(),
        }),
    }
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
            ("memory,reply=/r", Verb::Memory, Some("/r"), ""),
            (
                "heap,reply=/r,heap=dump,file=x",
                Verb::Heap,
                Some("/r"),
                "heap=dump,file=x",
            ),
            ("heap=dump", Verb::Start, None, "heap=dump"),
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
    fn only_start_takes_options_but_for_a_fork() {
        for (text, expected) in [
            ("dump", false),
            ("status", false),
            ("dump,dumper=fork", true),
            ("stop,reply=/r,dumper=fork", true),
        ] {
            assert_eq!(forks(&command(text)), Ok(expected), "{text}");
        }
        for text in [
            "stop,file=x",
            "status,dumper=fork",
            "dump,dumper=vm",
            "dump,dumper=fork,x",
        ] {
            assert!(forks(&command(text)).is_err(), "{text}");
        }
        let refused = |text| forks(&command(text)).expect_err(text).to_string();
        assert_eq!(
            refused("status,file=x"),
            "unknown option file=x: 'status' takes none"
        );
        assert_eq!(
            refused("stop,file=x"),
            "unknown option file=x: 'stop' takes dumper=fork"
        );
    }
}
