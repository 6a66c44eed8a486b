//! `hprof merge`: the sum of several profiles.

use std::io::{self, Write};
use std::path::PathBuf;

use hprof_profile::{Added, Form, Merger, WriteError, write};

use crate::failure::Failure;
use crate::output::Output;
use crate::profile::open;
use crate::terminal::Terminal;

/// Add profiles up, by stack, class and thread name
///
/// The last dump of each file counts. The sum is exact, and independent of the
/// order of the files. It is written in the binary form; call times exist only
/// in text, so a sum with these is written in the text form, where times are
/// rounded. Heap dumps are omitted, and so are the ages of objects and the course
/// of what was alive, because each run has a time of its own. The sum says when
/// its samples were taken if all files do: `hprof top SUM --from TIME`.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The files, binary or text, compressed or not; `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The file to write, readable only by its owner
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Label the samples of these files: host=NAME, or file for their names
    #[arg(long, value_name = "LABEL")]
    label: Vec<MergeLabel>,
}

/// A label to add.
#[derive(Clone, Debug)]
enum MergeLabel {
    Host(String),
    File,
}

/// Not a valid label.
#[derive(Debug, thiserror::Error)]
#[error("a label is `host=NAME` or `file`")]
struct NoLabel;

impl std::str::FromStr for MergeLabel {
    type Err = NoLabel;

    fn from_str(text: &str) -> Result<MergeLabel, NoLabel> {
        match text.split_once('=') {
            None if text == "file" => Ok(MergeLabel::File),
            Some(("host", host)) if !host.is_empty() => Ok(MergeLabel::Host(host.to_owned())),
            _ => Err(NoLabel),
        }
    }
}

/// Adds up the profiles and writes the sum.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut merger = Merger::default();
    let terminal = Terminal::new();
    let mut has_course = false;
    for (number, path) in (1..).zip(&arguments.files) {
        terminal.show(format_args!("adding {number} of {}", arguments.files.len()));
        let opened = open(path, None)?;
        has_course |= opened.profile.history.course.is_some();
        let added = merger.add(&opened.profile, &arguments.added(path));
        added.map_err(|error| Failure::about(path, error))?;
        // An incomplete file would make a wrong sum.
        opened.finish()?;
    }
    terminal.clear();
    if has_course {
        // If even this fails, there is nobody left to tell.
        let _ = writeln!(
            io::stderr(),
            "hprof: the sum has no course and no ages of objects: each run has a time of its own"
        );
    }
    let untimed: Vec<&str> = merger.without_times().iter().map(|m| m.name()).collect();
    if !untimed.is_empty() {
        // As above.
        let _ = writeln!(
            io::stderr(),
            "hprof: the sum does not say when its samples were taken, as not all files do: {}",
            untimed.join(", ")
        );
    }
    let sum = merger.finish();
    Form::for_profile(&sum).map_err(|error| Failure::about(&arguments.output, error))?;
    let inputs = arguments.files.iter().map(PathBuf::as_path);
    let output = Output::file(&arguments.output, inputs)?;
    output.write(|out| match write(&sum, out) {
        Ok(_) => Ok(()),
        Err(WriteError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    })
}

impl Arguments {
    fn added(&self, path: &std::path::Path) -> Added {
        let mut added = Added::default();
        for label in &self.label {
            match label {
                MergeLabel::Host(host) => added.host = Some(host.clone()),
                MergeLabel::File => added.file = Some(path.display().to_string()),
            }
        }
        added
    }
}
