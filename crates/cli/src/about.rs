//! A run in one line: the program, the JDK, when it started, how long it took, and the agent's options.

use std::time::Duration;

use hprof_heap::Dump;
use hprof_profile::Profile;

use crate::amounts;

/// Options that say nothing about what was measured.
const LEFT_OUT: [&str; 3] = ["file=", "force=", "verbose="];
/// The label of the main class or jar, with its arguments.
const PROGRAM: &str = "Program";
/// The labels of the time at which the agent began.
const BEGINNINGS: [&str; 3] = ["Started", "Attached", "Continues"];
/// The label of the time at which a file was begun that is about what was alive then.
const WRITTEN: &str = "Written";

/// Returns the line for a profile; `None` if its file has no facts about the run.
pub fn profile(profile: &Profile) -> Option<String> {
    run(&profile.facts, profile.length)
}

/// As [`profile`], without the program.
pub fn profile_of_known(profile: &Profile) -> Option<String> {
    run(&without_program(&profile.facts), profile.length)
}

/// Returns the line for the run of a heap dump.
pub fn dump(dump: &Dump) -> Option<String> {
    run(&dump.facts(), dump.reached())
}

/// As [`dump`], without the program.
pub fn dump_of_known(dump: &Dump) -> Option<String> {
    run(&without_program(&dump.facts()), dump.reached())
}

fn without_program(facts: &[(String, String)]) -> Vec<(String, String)> {
    let facts = facts.iter().filter(|(label, _)| label != PROGRAM);
    facts.cloned().collect()
}

/// Returns the line for a run with the facts in the head of its file, and the time in microseconds until its last record.
pub fn run(facts: &[(String, String)], length: u64) -> Option<String> {
    if facts.is_empty() {
        return None;
    }
    let fact = |wanted: &str| {
        let found = facts.iter().find(|(label, _)| label == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let jdk = fact("JDK").map(|jdk| format!("JDK {}", version(jdk)));
    let begun = BEGINNINGS.iter().find_map(|label| {
        let begun = fact(label)?;
        Some(format!("{} {begun}", label.to_lowercase()))
    });
    // A file that was begun later, such as that of a program that ran out of memory, does not know how long the program ran.
    let is_whole = begun.is_some() || fact(WRITTEN).is_none();
    let length = Duration::from_micros(length).as_secs_f64();
    let length = (length > 0.0 && is_whole).then(|| format!("{} long", amounts::time(length)));
    let begun = begun.or_else(|| Some(format!("written {}", fact(WRITTEN)?)));
    let program = fact(PROGRAM).and_then(program).map(str::to_owned);
    let parts: Vec<String> = [program, jdk, begun, length]
        .into_iter()
        .flatten()
        .collect();
    let options = fact("Options").map(options);
    let options = options.filter(|options| !options.is_empty());
    match (parts.is_empty(), options) {
        (true, None) => None,
        (true, Some(options)) => Some(options),
        (false, None) => Some(parts.join(", ")),
        (false, Some(options)) => Some(format!("{}; {options}", parts.join(", "))),
    }
}

/// Returns the numbers of a version such as `17.0.15+6 (OpenJDK 64-Bit Server VM, Debian)`.
fn version(jdk: &str) -> &str {
    let end = jdk.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    match end {
        None | Some(0) => jdk,
        Some(end) => &jdk[..end],
    }
}

/// Returns the main class, or the jar without its folder.
fn program(command: &str) -> Option<&str> {
    let program = command.split_whitespace().next()?;
    program.rsplit('/').next()
}

fn options(given: &str) -> String {
    let is_left_out = |option: &&str| LEFT_OUT.iter().any(|name| option.starts_with(name));
    let shown: Vec<&str> = given.split(',').filter(|o| !is_left_out(o)).collect();
    shown.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(facts: &[(&str, &str)], length: u64) -> Option<String> {
        let facts = facts.iter();
        let facts: Vec<_> = facts.map(|&(l, v)| (l.to_owned(), v.to_owned())).collect();
        run(&facts, length)
    }

    #[test]
    fn a_run_is_one_line() {
        let facts = [
            ("JDK", "17.0.15+6-LTS (OpenJDK 64-Bit Server VM, Debian)"),
            ("Collector", "G1"),
            (
                "Options",
                "cpu=samples,file=/tmp/a b.hprof,interval=5,force=n",
            ),
            ("Started", "Mon Nov 23 11:24:41 2026"),
            ("Program", "/opt/shop.jar --port 80"),
        ];
        assert_eq!(
            line(&facts, 8_400_000).as_deref(),
            Some(
                "shop.jar, JDK 17.0.15, started Mon Nov 23 11:24:41 2026, 8.40 s long; cpu=samples,interval=5"
            )
        );
    }

    #[test]
    fn a_file_that_was_begun_later_does_not_say_how_long_the_run_was() {
        let facts = [("Program", "a.B"), ("Written", "Fri Nov 27 22:39:02 2026")];
        assert_eq!(
            line(&facts, 259_000).as_deref(),
            Some("a.B, written Fri Nov 27 22:39:02 2026")
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(line(&[], 5), None);
        assert_eq!(line(&[("Options", "file=x")], 0), None);
        assert_eq!(
            line(&[("Program", "a.B"), ("Attached", "today")], 0).as_deref(),
            Some("a.B, attached today")
        );
    }
}
