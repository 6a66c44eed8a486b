//! Records a program that is already running.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::budget::{Bounded, BudgetArgument};
use super::files::Files;
use super::signals::{Event, Signals};
use super::what::What;
use crate::attach::{Consent, DumpWay, Session};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The time between two looks at the program.
const TICK: Duration = Duration::from_millis(200);
/// If this command is killed, the agent ends the profile itself so much later.
const GRACE: Duration = Duration::from_secs(60);

/// How a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The profile was stopped; the program runs on.
    Stopped,
    /// The program has ended.
    ProgramOver,
}

/// Records the program until the time is up, until Ctrl-C, or until it ends.
pub fn run(
    what: &What,
    budget: BudgetArgument,
    session: &Session,
    length: Option<Duration>,
    folder: &Path,
    consent: &Consent,
) -> Result<(Files, Outcome), Failure> {
    let options = budget.added_to(what, Bounded::Running);
    let options = options.map_err(Failure::Usage)?;
    let files = Files::choose(folder, what.suffix())?;
    session.check_sees(files.folder())?;
    let name = session.name();
    let fork = match what {
        What::Heap { .. } => "--fork",
        _ => DumpWay::FORK,
    };
    let measured = session.announce_start(&options, fork, consent)?;
    let signals = Signals::catch_and_count().map_err(|error: io::Error| {
        Failure::Message(format!("signals cannot be caught: {error}"))
    })?;
    let mut options = format!("{measured},{}", files.options());
    if let Some(length) = length.filter(|_| what.value_of("timeout").is_none()) {
        let last = (length + GRACE).as_millis();
        options.push_str(&format!(",timeout={last}ms"));
    }
    match length {
        Some(length) => session.start_within(&options, length)?,
        None => session.start(&options)?,
    };
    let begun = Instant::now();
    let terminal = Terminal::new();
    while length.is_none_or(|length| begun.elapsed() < length) {
        if session.is_over() {
            return Ok((files, Outcome::ProgramOver));
        }
        let left = length.map(|length| length.saturating_sub(begun.elapsed()));
        if let Event::Request(_) = signals.next(left.unwrap_or(TICK).min(TICK)) {
            break;
        }
        terminal.show(progress(what, &name, begun.elapsed(), length));
    }
    terminal.show(format_args!("stopping the profile of {name}"));
    match session.stop_profile(&measured) {
        Err(_) if session.is_over() => Ok((files, Outcome::ProgramOver)),
        stopped => stopped.map(|()| (files, Outcome::Stopped)),
    }
}

fn progress(what: &What, name: &str, elapsed: Duration, length: Option<Duration>) -> String {
    let of = length.map(|length| format!(" of {}", length.as_secs()));
    let of = of.unwrap_or_default();
    let seconds = elapsed.as_secs();
    let what = what.name();
    let line = format!("recording {what} of {name}, {seconds}{of} s; Ctrl-C ends the recording");
    hprof_format::printable(&line).into_owned()
}
