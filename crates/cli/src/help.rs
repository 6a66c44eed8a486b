//! The help of `hprof` itself: what it is for, and its commands, by what one wants to do.

use std::fmt::Write;

use clap::{Command, CommandFactory};

/// Every command is in one of these groups.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Profile a program",
        &[
            "record", "live", "leaks", "memory", "list", "doctor", "attach", "status", "dump",
            "stop",
        ],
    ),
    (
        "Read a profile",
        &[
            "top", "tree", "flame", "report", "growth", "diff", "check", "text",
        ],
    ),
    ("Read a heap dump", &["heap", "browse", "redact"]),
    ("After the program was killed", &["autopsy"]),
    (
        "Combine, convert and send profiles",
        &["merge", "export", "push", "recv"],
    ),
    (
        "More",
        &[
            "options",
            "agent-path",
            "mcp",
            "completions",
            "manual",
            "help",
        ],
    ),
];

/// Returns the command line of `T`, whose help lists its commands in groups.
pub fn grouped<T: CommandFactory>() -> Command {
    let mut command = T::command();
    // Only then it has `help`, and the width that the list is wrapped to.
    command.build();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        groups(&command)
    );
    T::command().help_template(template)
}

fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title}:");
        // Some may have been left out of this build.
        for command in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = command.get_about().map(ToString::to_string);
            let _ = writeln!(
                text,
                "  {:<13}{}",
                command.get_name(),
                about.unwrap_or_default()
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(all(
    test,
    feature = "browse",
    feature = "live",
    feature = "mcp",
    feature = "push",
    feature = "recv"
))]
mod tests {
    use super::*;
    use crate::Arguments;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Arguments::command();
        command.build();
        let mut existing: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        existing.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, existing);
    }
}
