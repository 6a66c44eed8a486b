//! `hprof doctor`: reports which features work here, and why the others do not. It changes nothing.

mod here;
mod program;

use std::io::{self, Write};
use std::path::Path;

use hprof_format::printable;

use super::{Library, Program, agent};
use crate::failure::Failure;

/// Report which features would work here, and why the others would not
///
/// Checks the library, the C library, the JDK, permissions, containers, limits
/// and disks; with a process id also that program, without affecting it. Each
/// line begins with `ok`, `note` (it works, with the difference described) or
/// `no` (it does not work, and the line says what would help).
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Doctor {
    /// A program that is to be profiled: its process id, or a part of its main class; `hprof list` shows both
    program: Option<Program>,

    #[command(flatten)]
    library: Library,
}

/// The result of one check.
struct Finding {
    verdict: Verdict,
    subject: &'static str,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Works,
    Differs,
    Fails,
}

impl Finding {
    fn works(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(Verdict::Works, subject, text)
    }

    fn differs(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(Verdict::Differs, subject, text)
    }

    fn fails(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(Verdict::Fails, subject, text)
    }

    fn new(verdict: Verdict, subject: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            verdict,
            subject,
            text,
        }
    }

    fn line(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Works => "ok",
            Verdict::Differs => "note",
            Verdict::Fails => "no",
        };
        let text = printable(&self.text).into_owned();
        format!("{verdict:<5} {:<10} {text}", self.subject)
    }
}

impl Doctor {
    /// Prints all findings; fails if something would not work.
    pub fn run(&self) -> Result<(), Failure> {
        let named = self.library.named();
        let mut findings = here::findings(named);
        match self.program.as_ref().map(Program::find) {
            None => findings.extend(here::programs()),
            Some(Ok(process)) => findings.extend(program::findings(&process, named)),
            Some(Err(error)) => findings.push(Finding::fails("program", error.to_string())),
        }
        let mut out = io::stdout().lock();
        findings
            .iter()
            .try_for_each(|finding| writeln!(out, "{}", finding.line()))
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        let fails = |finding: &&Finding| finding.verdict == Verdict::Fails;
        match findings.iter().filter(fails).count() {
            0 => Ok(()),
            1 => Err(Failure::Message("1 check failed, see above".to_owned())),
            count => Err(Failure::Message(format!(
                "{count} checks failed, see above"
            ))),
        }
    }
}
