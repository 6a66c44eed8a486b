//! What is said of a dump that is not whole, with every answer about it.

use std::fs;
use std::path::{Path, PathBuf};

use hprof_heap::Dump;

use crate::failure::Failure;

/// Returns the line about a dump of which a part is missing; `None` if it is whole.
pub fn line(file: &Path, dump: &Dump) -> Option<String> {
    let completeness = dump.completeness();
    if completeness.is_whole() {
        return None;
    }
    let mut line = format!("{}: {completeness}", file.display());
    let pieces = pieces(file);
    if let Some((first, rest)) = pieces.split_first() {
        let name = first.display();
        line += &match rest {
            [] => format!("; {name} in the same folder is a piece of it"),
            [.., last] => format!(
                "; {name} to {} in the same folder are pieces of it",
                last.display()
            ),
        };
    }
    Some(line)
}

/// Returns the files in which the VM (22 and newer) has written the objects of a dump that it had no time to put together.
fn pieces(file: &Path) -> Vec<PathBuf> {
    let piece = |number: usize| {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".p{number}"));
        PathBuf::from(name)
    };
    let pieces = (0..).map(piece);
    pieces
        .take_while(|piece| fs::metadata(piece).is_ok_and(|found| found.is_file()))
        .collect()
}

/// Adds the line to a failure, which the missing part may be the cause of.
pub fn explained(failure: Failure, line: Option<&str>) -> Failure {
    match (failure, line) {
        (Failure::Message(message), Some(line)) if !message.contains(line) => {
            Failure::Message(format!("{message}; {line}"))
        }
        (failure, _) => failure,
    }
}

/// The runs and the dumps that an answer is about.
pub struct Sources {
    /// Lines above the answer.
    pub runs: Vec<String>,
    incomplete: Vec<String>,
}

impl Sources {
    /// Returns those of one dump.
    pub fn of(runs: Vec<String>, file: &Path, dump: &Dump) -> Sources {
        Sources {
            runs,
            incomplete: line(file, dump).into_iter().collect(),
        }
    }

    /// Returns lines above an answer that is about no dump.
    pub fn without_dump(runs: Vec<String>) -> Sources {
        let incomplete = Vec::new();
        Sources { runs, incomplete }
    }

    /// Adds those of another.
    pub fn and(mut self, other: Sources) -> Sources {
        self.runs.extend(other.runs);
        self.incomplete.extend(other.incomplete);
        self
    }

    /// Returns the lines about dumps that are not whole.
    pub fn incomplete(&self) -> &[String] {
        &self.incomplete
    }

    /// Fails if a dump is not whole: the answer has been printed, and is about a part of it.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.incomplete[..] {
            [] => Ok(()),
            lines => Err(Failure::Message(lines.join("; "))),
        }
    }
}
