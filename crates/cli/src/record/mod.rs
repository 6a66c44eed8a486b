//! `hprof record`: from a program to the answer in one command.
//!
//! `launch` runs a command with the agent in its JVMs, `attached` records a program that runs already; `what` has the
//! measurements, `files` the names of the files, and `answer` what is printed at the end.

mod answer;
mod attached;
pub mod budget;
mod files;
mod kept;
mod launch;
mod page;
mod signals;
mod units;
pub mod what;

pub use budget::BUDGET;
pub use signals::{Event, Signals};

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::attach::{Consent, Library, Program, Session};
use crate::duration;
use crate::failure::Failure;
use crate::profile::OwnCodeArgument;
use answer::{Answer, CommandEnd};
use attached::Outcome;
use budget::{Bounded, BudgetArgument};
use files::Files;
use what::What;

/// Profile a program, and show what the profile says
///
/// WHAT is `cpu` (the default: the methods that use the CPU), `alloc` (those
/// that allocate), `wall` (where threads are while time passes, running or
/// waiting), `heap` (what is alive at the end, and who keeps it), `calls` (how
/// often methods are called, and how long they take), `locks` (who waits for
/// whom), `native` (who allocates native memory and does not free it), or options
/// of the agent as they are: `cpu=samples,interval=1`.
///
/// After `--` comes a command: `java`, or anything that starts JVMs, such as
/// `mvn` or `gradle --no-daemon`. Each JVM gets a file of its own. The command
/// keeps its input, output and exit status, and receives the signals; the answer
/// is on stderr. `java` gets the agent as an argument; JVMs that it starts itself
/// are not recorded. Other commands get it through JAVA_TOOL_OPTIONS, and each
/// JVM says on stderr that it has picked that up.
///
/// Without a command, PROGRAM is recorded, which runs already: a process id, or a
/// part of a main class. It ends after --for, or by Ctrl-C; the program continues.
///
/// Files are called Main-20261123-081500-4711.hprof, by the main class, the time
/// and the process, and never replace one that exists.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "hprof record [OPTIONS] [WHAT] -- COMMAND...\n       hprof record [OPTIONS] [WHAT] PROGRAM"
)]
pub struct Arguments {
    /// What to measure (cpu, wall, alloc, heap, calls, locks, native, or options of the agent), and the program, if no command follows
    #[arg(value_name = "WHAT|PROGRAM", num_args = 0..=2)]
    words: Vec<String>,

    /// The length of the recording, such as 30s, 5m or 500ms; the program continues
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse)]
    length: Option<Duration>,

    /// With heap, of a running program: let it go on while a forked copy of it writes the dump
    #[arg(long)]
    fork: bool,

    /// The folder for the files; it is created if it is missing
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,

    /// Also write the page of `hprof report`, or, if FILE ends with .jfr, the profile as a recording of the JDK Flight Recorder; readable
    /// only by its owner
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Open that page in the browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    budget: BudgetArgument,

    #[command(flatten)]
    own: OwnCodeArgument,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    library: Library,

    /// The command to run
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records, and prints the answer; returns the exit status.
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let (what, program) = arguments.meaning()?;
    for name in ["file", "net"] {
        if what.value_of(name).is_some() {
            return Err(Failure::Usage(format!(
                "option {name}=: `hprof record` names the files itself, in the folder of --dir; `java -agentpath:...` and \
                 `hprof attach` take this option"
            )));
        }
    }
    page::check(arguments.output.as_deref())?;
    match program {
        Some(program) => arguments.attach(&what, &program),
        None => arguments.launch(&what),
    }
}

/// Records a running program for a time, and returns the file.
pub fn running(
    program: &str,
    what: &What,
    budget: BudgetArgument,
    length: Duration,
    folder: &Path,
    consent: &Consent,
    library: &Library,
) -> Result<PathBuf, Failure> {
    let Ok(program) = program.parse();
    let session = Session::with(&program, library)?;
    let (files, _) = attached::run(what, budget, &session, Some(length), folder, consent)?;
    let file = files.found().into_iter().next();
    let file = file.ok_or_else(|| Failure::Message("the agent wrote no file".to_owned()))?;
    let line = format!("the profile is {}", file.display());
    let _ = writeln!(io::stderr(), "hprof: {}", hprof_format::printable(&line));
    Ok(file)
}

impl Arguments {
    /// Returns what is to be measured, and the program unless a command is to be run.
    fn meaning(&self) -> Result<(What, Option<Program>), Failure> {
        let usage = |message: String| Err(Failure::Usage(message));
        let (what, program) = match self.words.as_slice() {
            [] => (None, None),
            [word] => match What::parse(word) {
                Some(what) => (Some(what), None),
                None => (None, Some(word)),
            },
            [what, program, ..] => match What::parse(what) {
                Some(what) => (Some(what), Some(program)),
                None => return usage(format!("`{what}` cannot be recorded, only {}", What::NAMES)),
            },
        };
        match (program, self.command.is_empty()) {
            (Some(word), false) => usage(format!(
                "`{word}` cannot be recorded, only {}; the program comes after --",
                What::NAMES
            )),
            (None, true) => usage(
                "name a command (hprof record -- java Main) or a running program (hprof record Main --for 30s); \
                 `hprof list` shows those"
                    .to_owned(),
            ),
            (program, _) => {
                let Ok(program) = program.map(|name| name.parse()).transpose();
                let what = match (what.unwrap_or(What::Cpu), self.fork) {
                    (what, false) => what,
                    (What::Heap { .. }, true) if program.is_some() => What::Heap { forks: true },
                    _ => {
                        let only = "--fork: only for `hprof record heap PROGRAM`, with a running program";
                        return usage(only.to_owned());
                    }
                };
                Ok((what, program))
            }
        }
    }

    fn launch(&self, what: &What) -> Result<u8, Failure> {
        let library = self.library.for_new_program()?;
        let files = Files::choose(&self.dir, what.suffix())?;
        let options = self.budget.added_to(what, Bounded::Started);
        let mut options = format!("{},{}", options.map_err(Failure::Usage)?, files.options());
        if let Some(length) = self.length {
            options.push_str(&format!(",timeout={}ms", length.as_millis()));
        }
        if let Some(cost) = self.budget.expected_cost(what) {
            let _ = writeln!(io::stderr(), "hprof: {cost}");
        }
        let ended = launch::run(&self.command, &library, &options, what.name())?;
        if !ended.was_started {
            return Ok(ended.status);
        }
        let answer = Answer::new(
            what,
            &files,
            self.own.mine.as_ref(),
            Some(CommandEnd {
                signal: ended.signal,
            }),
        );
        // Everything on stdout is the command's.
        let shown = answer.write(&mut io::stderr().lock());
        let page = shown.and_then(|()| self.page(&answer));
        if let Err(Failure::Message(message)) = page {
            // The status is the command's, whatever becomes of the answer.
            let _ = writeln!(io::stderr(), "hprof: {}", hprof_format::printable(&message));
        }
        Ok(ended.status)
    }

    fn attach(&self, what: &What, program: &Program) -> Result<u8, Failure> {
        let session = Session::with(program, &self.library)?;
        let (files, outcome) = attached::run(
            what,
            self.budget,
            &session,
            self.length,
            &self.dir,
            &self.consent,
        )?;
        if outcome == Outcome::ProgramOver {
            let _ = writeln!(
                io::stderr(),
                "hprof: the program has ended, and the recording with it"
            );
        }
        let answer = Answer::new(what, &files, self.own.mine.as_ref(), None);
        answer.write(&mut io::stdout().lock())?;
        self.page(&answer)?;
        Ok(0)
    }

    fn page(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        let output = self.output.as_deref();
        let is_recording = output.is_some_and(|output| output.extension() == Some("jfr".as_ref()));
        let page = output.filter(|_| !is_recording);
        if let (true, Some(recording)) = (is_recording, output) {
            page::write_recording(answer.files(), recording)?;
        }
        if page.is_none() && !self.open {
            return Ok(());
        }
        page::write(answer.files(), page, self.open)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// Returns the measurement, and whether a running program is meant; or the exit status 2's message.
    fn meaning(line: &str) -> Result<(What, bool), String> {
        let line = Line::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        let meaning = line.arguments.meaning();
        meaning
            .map(|(what, program)| (what, program.is_some()))
            .map_err(|failure| failure.message().unwrap_or_default().to_owned())
    }

    #[test]
    fn words_mean_what_their_place_says() {
        assert_eq!(meaning("record -- java Main"), Ok((What::Cpu, false)));
        assert_eq!(meaning("record alloc -- java -x"), Ok((What::Alloc, false)));
        assert_eq!(meaning("record Main"), Ok((What::Cpu, true)));
        assert_eq!(
            meaning("record locks 4711 --for 3s"),
            Ok((What::Locks, true))
        );
        // A program may have the name of a measurement.
        assert_eq!(meaning("record cpu heap"), Ok((What::Cpu, true)));
    }

    #[test]
    fn what_is_neither_is_explained() {
        for (line, part) in [
            ("record", "name a command"),
            ("record cpu", "name a command"),
            (
                "record fast -- java Main",
                "`fast` cannot be recorded, only cpu,",
            ),
            ("record fast Main", "`fast` cannot be recorded, only cpu,"),
            ("record cpu Main -- java Main", "`Main` cannot be recorded"),
            ("record Main --for 3x", "must be a whole number with"),
        ] {
            let message = meaning(line).expect_err(line);
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
