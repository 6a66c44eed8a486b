//! Runs a command so that each JVM that it starts is profiled.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use hprof_format::printable;

use super::signals::{Event, Signals, pass_on};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The variable whose options every JVM takes.
const VARIABLE: &str = "JAVA_TOOL_OPTIONS";
/// The exit statuses of shells for a command that is not found, and for one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// Added to the number of the signal that ended a command.
const SIGNALLED: u8 = 128;
/// The time between two looks at the clock.
const TICK: Duration = Duration::from_millis(500);

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit status, as a shell gives it.
    pub status: u8,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// `true` if it was started at all.
    pub was_started: bool,
}

/// Runs the command to its end, with the agent in its JVMs. `java` gets the agent as an argument, which it takes silently;
/// other commands pass it on in the environment, which each JVM reports on its stderr.
pub fn run(
    command: &[OsString],
    library: &Path,
    options: &str,
    what: &str,
) -> Result<Ended, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::Usage("there is no command after --".to_owned()));
    };
    let mut agent = OsString::from("-agentpath:");
    agent.push(library);
    agent.push("=");
    agent.push(options);
    let mut child = Command::new(program);
    if is_java(program) {
        child.arg(agent);
    } else {
        child.env(VARIABLE, added(env::var_os(VARIABLE), &agent)?);
    }
    child.args(arguments);
    let failed = |error: io::Error| Failure::about(Path::new(program), error);
    let signals = Signals::catch().map_err(failed)?;
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(not_started(program, &error)),
    };
    let begun = Instant::now();
    let terminal = Terminal::new();
    // On the terminal that the program itself may write to, the line would be in its way.
    let is_shown = !io::stdout().is_terminal();
    loop {
        match signals.next(TICK) {
            Event::Request(signal) => pass_on(signal, child.id()),
            Event::Child | Event::Nothing => {}
        }
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Ended::of(status));
        }
        if is_shown {
            let seconds = begun.elapsed().as_secs();
            terminal.show(format_args!("recording {what}, {seconds} s"));
        }
    }
}

fn not_started(program: &OsStr, error: &io::Error) -> Ended {
    let name = program.to_string_lossy();
    let name = printable(&*name);
    let (status, why) = match error.kind() {
        ErrorKind::NotFound => (NOT_FOUND, "command not found".to_owned()),
        _ => (NOT_EXECUTABLE, error.to_string()),
    };
    // If even this fails, the status still says it.
    let _ = writeln!(io::stderr(), "hprof: {name}: {why}");
    Ended {
        status,
        signal: None,
        was_started: false,
    }
}

impl Ended {
    fn of(status: ExitStatus) -> Self {
        let signal = status.signal();
        let number = status
            .code()
            .or(signal.map(|signal| signal + i32::from(SIGNALLED)));
        Self {
            status: number
                .and_then(|number| u8::try_from(number).ok())
                .unwrap_or(u8::MAX),
            signal,
            was_started: true,
        }
    }
}

/// Returns `true` if the command is the launcher `java`.
fn is_java(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("java"))
}

/// Returns the variable's value with the agent after what is there. The JVM splits it at spaces that are not in quotes.
fn added(value: Option<OsString>, agent: &OsStr) -> Result<OsString, Failure> {
    let has = |letter: u8| agent.as_bytes().contains(&letter);
    let is_bare = !agent
        .as_bytes()
        .iter()
        .any(|byte| byte.is_ascii_whitespace() || *byte == b'"' || *byte == b'\'');
    let quote = match (is_bare, has(b'\''), has(b'"')) {
        (true, ..) => "",
        (false, false, _) => "'",
        (false, true, false) => "\"",
        (false, true, true) => {
            return Err(Failure::about(
                Path::new(agent),
                "the paths have both kinds of quotes in them, which JAVA_TOOL_OPTIONS cannot hold",
            ));
        }
    };
    let mut all = value.unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(quote);
    all.push(agent);
    all.push(quote);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(value: Option<&str>, agent: &str) -> Option<String> {
        let all = added(value.map(OsString::from), OsStr::new(agent)).ok()?;
        all.into_string().ok()
    }

    #[test]
    fn the_agent_is_added_after_what_is_there() {
        assert_eq!(with(None, "-a").as_deref(), Some("-a"));
        assert_eq!(with(Some(""), "-a").as_deref(), Some("-a"));
        assert_eq!(with(Some("-Xmx1g"), "-a").as_deref(), Some("-Xmx1g -a"));
    }

    #[test]
    fn paths_with_spaces_are_quoted() {
        assert_eq!(with(None, "-a b").as_deref(), Some("'-a b'"));
        assert_eq!(with(None, "-it's").as_deref(), Some("\"-it's\""));
        assert_eq!(with(None, "-\"it's\""), None);
    }

    #[test]
    fn only_the_launcher_takes_the_agent_as_an_argument() {
        assert!(is_java(OsStr::new("java")));
        assert!(is_java(OsStr::new("/opt/jdk/bin/java")));
        for other in ["mvn", "javac", "java.sh", "/opt/java/run"] {
            assert!(!is_java(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn statuses_are_those_of_a_shell() {
        let ended = |raw| Ended::of(ExitStatus::from_raw(raw));
        assert_eq!((ended(3 << 8).status, ended(3 << 8).signal), (3, None));
        assert_eq!((ended(9).status, ended(9).signal), (137, Some(9)));
    }
}
