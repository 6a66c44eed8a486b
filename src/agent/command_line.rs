//! How the program was started: its main class, its arguments and the VM's flags, without what looks like a secret.

use std::env;

use hprof_format::without_secrets;

use crate::os;

/// The environment variables from which a VM or its launcher takes flags.
const VARIABLES: [&str; 3] = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"];
/// The most letters of a fact; a class path may have thousands.
const LONGEST: usize = 4_000;

/// The facts about the start of the program.
#[derive(Debug, PartialEq)]
pub(super) struct CommandLine {
    /// The main class or jar with its arguments, or the whole command line of a program that is not `java`.
    pub(super) program: String,
    /// The VM's flags.
    pub(super) flags: String,
}

impl CommandLine {
    /// Returns that of this process. `command` is the system property `sun.java.command`, which `java` sets.
    pub(super) fn of_this_process(command: Option<&str>) -> Self {
        let variables = VARIABLES.map(|name| (name, env::var(name).unwrap_or_default()));
        Self::of(&os::arguments(), command, &variables)
    }

    fn of(arguments: &[String], command: Option<&str>, variables: &[(&str, String)]) -> Self {
        let (flags, program) = split(arguments, command);
        let mut flags = without_secrets(&flags);
        for (name, value) in variables {
            let words: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                flags.push(format!("({name}: {})", without_secrets(&words).join(" ")));
            }
        }
        // Whatever it is called, the main class is no secret.
        let (main, rest) = program.split_at(program.len().min(1));
        let program = [main, &without_secrets(rest)].concat();
        Self {
            program: shortened(program.join(" ")),
            flags: shortened(flags.join(" ")),
        }
    }
}

/// Returns the flags, and the main class with its arguments: the end of the command line that is `command`, where the
/// arguments are separated by spaces.
fn split(arguments: &[String], command: Option<&str>) -> (Vec<String>, Vec<String>) {
    let Some(command) = command else {
        return (Vec::new(), arguments.to_vec());
    };
    let after_java = arguments.get(1..).unwrap_or_default();
    let mut length = 0;
    for (start, argument) in after_java.iter().enumerate().rev() {
        length += argument.len() + usize::from(length > 0);
        if length == command.len() && after_java[start..].join(" ") == command {
            let (flags, program) = after_java.split_at(start);
            return (flags.to_vec(), program.to_vec());
        }
    }
    // They are in a file that `java @file` reads.
    let words = command.split_whitespace().map(str::to_owned);
    (after_java.to_vec(), words.collect())
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[&str], command: Option<&str>) -> (String, String) {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let line = CommandLine::of(&arguments, command, &[]);
        (line.flags, line.program)
    }

    fn pair(flags: &str, program: &str) -> (String, String) {
        (flags.to_owned(), program.to_owned())
    }

    #[test]
    fn flags_and_arguments_are_told_apart() {
        assert_eq!(
            line(
                &["java", "-Xmx1g", "-cp", "a:b", "app.Main", "two words", "x"],
                Some("app.Main two words x")
            ),
            pair("-Xmx1g -cp a:b", "app.Main two words x")
        );
        assert_eq!(
            line(&["java", "-jar", "app.jar"], Some("app.jar")),
            pair("-jar", "app.jar")
        );
        assert_eq!(
            line(&["java", "@args"], Some("app.Main 1")),
            pair("@args", "app.Main 1")
        );
        assert_eq!(
            line(&["server", "-p", "80"], None),
            pair("", "server -p 80")
        );
        assert_eq!(line(&[], Some("Main")), pair("", "Main"));
        assert_eq!(line(&[], None), pair("", ""));
    }

    #[test]
    fn secrets_are_replaced_and_the_main_class_is_not() {
        let arguments = [
            "java",
            "-Ddb.Password=1",
            "app.TokenService",
            "--db-passwd",
            "3",
        ];
        assert_eq!(
            line(&arguments, Some(&arguments[2..].join(" "))),
            pair("[REDACTED]", "app.TokenService [REDACTED] [REDACTED]")
        );
    }

    #[test]
    fn flags_of_the_environment_count() {
        let variables = [
            ("JAVA_TOOL_OPTIONS", "-Xint  -Dtoken=1".to_owned()),
            ("_JAVA_OPTIONS", String::new()),
        ];
        let arguments = ["java".to_owned(), "Main".to_owned()];
        let line = CommandLine::of(&arguments, Some("Main"), &variables);
        assert_eq!(line.flags, "(JAVA_TOOL_OPTIONS: -Xint [REDACTED])");
    }

    #[test]
    fn a_long_class_path_is_cut() {
        let arguments = ["java".to_owned(), "ä".repeat(9_000), "Main".to_owned()];
        let line = CommandLine::of(&arguments, Some("Main"), &[]);
        assert_eq!(line.flags.chars().count(), LONGEST + 4);
        assert!(line.flags.ends_with("ä ..."));
    }
}
