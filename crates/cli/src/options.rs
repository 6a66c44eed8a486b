//! `hprof options`: the options of the agent.

use std::io::{self, Write};
use std::path::Path;

use hprof_options::{describe, help};

use crate::failure::Failure;

/// The page that explains the options, each in a section of its own.
const PAGE: &str = include_str!("../../../docs/reference/options.md");

/// Print the options of the agent, or explain one of them
///
/// These are the options of -agentpath:libhprof.so=... and of `hprof attach`, as
/// -agentpath:libhprof.so=help prints them.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = help())]
pub struct Arguments {
    /// The option, as in `hprof options depth`
    name: Option<String>,
}

/// Returns the section of the page about an option, without links; nothing for one that has no section.
fn explanation(name: &str) -> String {
    let heading = format!("### `{name}`");
    let lines = PAGE.lines().skip_while(|line| *line != heading).skip(1);
    let section = lines.take_while(|line| !line.starts_with('#'));
    let section: Vec<String> = section.map(without_links).collect();
    let section = section.join("\n");
    match section.trim() {
        "" => String::new(),
        section => format!("\n{section}\n"),
    }
}

/// Returns a line of the page in which `[text](target)` is `text`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((shown, (_, after))) = link
            .split_once("](")
            .and_then(|(shown, target)| Some((shown, target.split_once(')')?)))
        else {
            break;
        };
        text.push_str(before);
        text.push_str(shown);
        rest = after;
    }
    text + rest
}

/// Prints the options.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match &arguments.name {
        None => help(),
        Some(name) => {
            let summary = describe(name).map_err(|error| Failure::Message(error.to_string()))?;
            summary + &explanation(name)
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::writing(Path::new("standard output"), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_explained_without_links() {
        let depth = explanation("depth");
        assert!(depth.contains("from 0 to 65535"), "{depth}");
        assert!(!depth.contains("interval"), "{depth}");
        let dumper = explanation("dumper");
        assert!(dumper.contains("See heap dumps.\n"), "{dumper}");
        assert_eq!(explanation("no such"), "");
        assert_eq!(without_links("a [b](c) [d](e)[f"), "a b d[f");
    }
}
