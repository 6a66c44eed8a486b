//! `hprof doctor` on Windows: what works here.

use std::io::{self, Write};
use std::path::Path;

use hprof_format::printable;

use super::agent;
use crate::failure::Failure;

/// The commands that need what Linux has.
const MISSING: &str = "record, live, memory, and leaks and heap of a running program";

/// Report which features work here, and why the others do not
#[derive(clap::Args)]
pub struct Doctor {}

impl Doctor {
    /// Prints what works; fails, because some commands do not.
    pub fn run(&self) -> Result<(), Failure> {
        let library = agent::installed_library();
        let checks = if library.is_ok() {
            "1 check"
        } else {
            "2 checks"
        };
        let (verdict, library) = match library {
            Ok(path) => ("ok", path.display().to_string()),
            Err(error) => ("no", error.to_string()),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "ok    files      all commands that read files work on Windows")
            .and_then(|()| writeln!(out, "{verdict}    library    {}", printable(&library)))
            .and_then(|()| writeln!(out, "note  programs   list, attach, status, dump and stop work on JVMs of this user; frames of native code are not seen"))
            .and_then(|()| writeln!(out, "no    programs   these commands work on Linux: {MISSING}"))
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        Err(Failure::Message(format!("{checks} failed, see above")))
    }
}
