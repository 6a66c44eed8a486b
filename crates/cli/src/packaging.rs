//! Completions and manual pages, for shells and packagers.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::Output;

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual pages into a folder, which is created if it is missing
#[derive(clap::Args)]
pub struct Manual {
    /// The folder for them
    directory: PathBuf,
}

impl Completions {
    /// Prints the completions for the command line.
    pub fn run(&self, mut command: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "hprof", &mut script);
        Output::open(None, Path::new("-"))?.write(|out| out.write_all(&script))
    }
}

impl Manual {
    /// Writes the manual pages of the command line.
    pub fn run(&self, command: &Command) -> Result<(), Failure> {
        let folder = &self.directory;
        std::fs::create_dir_all(folder).map_err(|error| Failure::about(folder, error))?;
        self.write(&command.clone().name("hprof"))?;
        for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let name = format!("hprof-{}", subcommand.get_name());
            self.write(&subcommand.clone().name(name))?;
        }
        Ok(())
    }

    fn write(&self, command: &Command) -> Result<(), Failure> {
        let path = self.directory.join(format!("{}.1", command.get_name()));
        let page = render(command).map_err(|error| Failure::about(&path, error))?;
        std::fs::write(&path, page).map_err(|error| Failure::writing(&path, &error))
    }
}

fn render(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
