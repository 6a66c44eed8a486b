//! The heap of a running program, in a dump that nobody keeps.
//!
//! A forked copy of the program writes the dump into a private folder, from where it is opened and removed at once: whatever
//! ends this command, nothing is left.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use clap::Args;
use hprof_format::printable;
use tempfile::TempDir;

use super::leaks::Leaks;
use super::{DumpArguments, HeapCommand, Histogram, Paths, Retained, Show, Who};
use crate::attach::{Consent, Library, Program, Session};
use crate::failure::Failure;
use crate::interrupts::BeforeTheEnd;

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

/// A dump of a running program, which is gone when the value is dropped.
pub struct LiveDump {
    _file: File,
    path: PathBuf,
}

impl LiveDump {
    /// Has a copy of the program dump its heap. If there can be none, the program itself does it, if the user agrees or would not
    /// notice.
    pub fn of(program: &Program, library: &Library, consent: &Consent) -> Result<Self, Failure> {
        let session = Session::with(program, library)?;
        let may_stop = consent.is_given() || !session.notices_dump();
        let folder = private_folder()?;
        let file = folder.path().join("heap.hprof");
        let removed = folder.path().to_owned();
        let _end = BeforeTheEnd::call(move || drop(fs::remove_dir_all(removed)));
        session.announce_copy(&std::env::temp_dir());
        let how = session.dump_heap(&file, may_stop)?;
        let line = format!("{}: {how}", session.name());
        let _ = writeln!(io::stderr(), "hprof: {}", printable(&line));
        let opened = File::open(&file).map_err(|error| Failure::about(&file, error))?;
        Ok(Self {
            path: PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            _file: opened,
        })
    }
}

/// Returns a folder that only the program's user can open, who is this process's user by now.
fn private_folder() -> Result<TempDir, Failure> {
    let parent = std::env::temp_dir();
    let permissions = fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new()
        .prefix("hprof-")
        .permissions(permissions)
        .tempdir_in(&parent);
    folder.map_err(|error| Failure::about(&parent, error))
}

impl DumpArguments {
    /// Dumps the heap of the program that is named in place of the file, and takes the dump.
    fn take_from(&mut self, library: &Library, consent: &Consent) -> Result<LiveDump, Failure> {
        let Ok(program) = self.file.to_string_lossy().parse();
        let dump = LiveDump::of(&program, library, consent)?;
        self.file.clone_from(&dump.path);
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
