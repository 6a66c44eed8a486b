//! The page `docs/reference/help.md`: what `hprof` prints about each of its commands. `HPROF_BLESS=1` writes it anew. The page
//! `docs/reference/commands.md` has a line for each command. The messages on `docs/guide/troubleshooting.md` are in the sources.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEAD: &str = "\
---
search:
  exclude: true
---

# The help of each command

<!-- Made of what `hprof COMMAND --help` prints; a test compares them. HPROF_BLESS=1 writes this page. -->

What `hprof COMMAND --help` prints. [Commands](commands.md) has a line for each.
";

fn help(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(command)
        .arg("--help")
        .output()
        .expect("hprof");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The commands that a help text lists: between the usage and the options.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    lines
        .take_while(|line| !["Options:", "Arguments:"].contains(line))
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Adds a command's help, and that of the commands below it.
fn describe(command: &[String], page: &mut String) {
    let help = help(command);
    let level = "#".repeat(command.len().clamp(1, 2) + 1);
    let name = [&["hprof".to_owned()], command].concat().join(" ");
    let text: String = help
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "\n{level} `{name}`\n\n```text\n{}\n```\n",
        text.trim_end()
    );
    for below in listed(&help) {
        describe(&[command, &[below]].concat(), page);
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name)
}

#[test]
fn the_commands_page_has_a_row_for_each_command() {
    let rows = fs::read_to_string(page("commands.md")).expect("the page");
    let mut linked: Vec<&str> = rows
        .lines()
        .filter_map(|line| line.strip_prefix("| [`")?.split_once("`](help.md#"))
        .map(|(name, _)| name)
        .collect();
    let commands = listed(&help(&[]));
    let below = listed(&help(&["heap".to_owned()]));
    let below = below.iter().map(|name| format!("hprof heap {name}"));
    let mut expected: Vec<String> = commands
        .iter()
        .filter(|name| *name != "heap")
        .map(|name| format!("hprof {name}"))
        .chain(below)
        .collect();
    expected.sort();
    linked.sort_unstable();
    assert_eq!(linked, expected);
}

/// What differs in the messages on the page.
const PLACEHOLDERS: [&str; 4] = ["NAME", "VALUE", "ALLOWED", "N"];
/// The JVM prints it.
const NOT_OURS: &str = "Could not find agent library";

/// All sources, without what divides a string into lines.
fn sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.file_name() != Some("tests".as_ref()) {
                folders.push(path);
            } else if path.extension() == Some("rs".as_ref()) {
                text += &fs::read_to_string(path).expect("a source");
            }
        }
    }
    let lines: Vec<&str> = text.split("\\\n").collect();
    let joined = lines.iter().enumerate().map(|(number, line)| match number {
        0 => *line,
        _ => line.trim_start(),
    });
    joined.collect()
}

#[test]
fn the_messages_to_look_for_are_those_of_the_sources() {
    let path = page("../guide/troubleshooting.md");
    let page = fs::read_to_string(path).expect("the page");
    let sources = sources();
    let messages = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .flat_map(|(cell, _)| cell.split("` … `"))
        .filter(|message| *message != NOT_OURS);
    let mut count = 0;
    for message in messages {
        let is_placeholder = |word: &str| PLACEHOLDERS.contains(&word);
        let mut part = String::new();
        for word in message.split_inclusive([' ', '=', ':']).chain(["N"]) {
            if !is_placeholder(word.trim_end_matches([' ', '=', ':'])) {
                part += word;
                continue;
            }
            assert!(sources.contains(part.trim()), "{message}: {part:?}");
            part.clear();
        }
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_help_page_is_what_hprof_prints() {
    let path = page("help.md");
    let mut page = HEAD.to_owned();
    describe(&[], &mut page);
    if std::env::var_os("HPROF_BLESS").is_some() {
        fs::write(path, page).expect("the page");
        return;
    }
    let found = fs::read_to_string(path).expect("the page");
    for (number, (found, printed)) in found.lines().zip(page.lines()).enumerate() {
        assert_eq!(
            found,
            printed,
            "line {}; HPROF_BLESS=1 writes the page",
            number + 1
        );
    }
    assert_eq!(found, page, "HPROF_BLESS=1 writes the page anew");
}
