//! The heap of a running program, in a dump that nobody keeps.

use clap::Args;

use super::leaks::Leaks;
use super::{DumpArguments, HeapCommand, Histogram, Paths, Retained, Show, Who};
use crate::attach::{Consent, Library, LiveDump};
use crate::failure::Failure;

/// Show what keeps most of the heap of a running program alive
///
/// A forked copy of the program writes the dump, while the program continues. The copy takes memory until then, up to twice
/// what the heap has in use, and the dump the same on the disk of TMPDIR. Where there can be no copy (ZGC, too little
/// memory), nothing is done, unless --yes allows a dump that stops the program.
///
/// Other questions of `hprof heap` take the process id of a running program in place of FILE, too.
#[derive(Args)]
#[command(
    mut_arg("file", |file| file.value_name("PROGRAM").help("The program: its process id, or a part of its main class; `hprof list` shows both")),
    mut_arg("dump", |dump| dump.hide(true)),
    mut_arg("no_index", |no_index| no_index.hide(true))
)]
pub struct LiveLeaks {
    #[command(flatten)]
    leaks: Leaks,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    library: Library,
}

impl LiveLeaks {
    /// Dumps the heap, and prints what it says.
    pub fn run(mut self) -> Result<(), Failure> {
        let source = self.leaks.source();
        // Whoever names a file means the file.
        let _dump = match source.file.is_file() {
            true => None,
            false => Some(source.take_from(&self.library, &self.consent)?),
        };
        self.leaks.run()
    }
}

impl DumpArguments {
    /// Dumps the heap of the program that is named in place of the file, and takes the dump.
    fn take_from(&mut self, library: &Library, consent: &Consent) -> Result<LiveDump, Failure> {
        let Ok(program) = self.file.to_string_lossy().parse();
        let dump = LiveDump::of(&program, library, consent)?;
        dump.path().clone_into(&mut self.file);
        self.reading.leave_index_out();
        Ok(dump)
    }
}

impl HeapCommand {
    /// If the file is none, and the process id of a running program, dumps that program's heap, and takes the dump.
    pub(super) fn dump_running(&mut self) -> Result<Option<LiveDump>, Failure> {
        let Some(source) = self.source() else {
            return Ok(None);
        };
        let is_number = source
            .file
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok());
        match is_number && !source.file.exists() {
            true => source
                .take_from(&Library::default(), &Consent::default())
                .map(Some),
            false => Ok(None),
        }
    }

    /// Returns the dump that a question is about; `None` if it is about none or several.
    fn source(&mut self) -> Option<&mut DumpArguments> {
        Some(match self {
            Self::Summary(source) => source,
            Self::Histogram(Histogram { rows, .. })
            | Self::Retained(Retained { rows, .. })
            | Self::Who(Who { rows, .. })
            | Self::Loaders(rows)
            | Self::Threads(rows) => &mut rows.source,
            Self::Paths(Paths { source, .. }) | Self::Show(Show { source, .. }) => source,
            Self::Leaks(leaks) => leaks.source(),
            Self::Diff(_) | Self::Index(_) => return None,
        })
    }
}
