//! `hprof heap index`: a file that holds the graph of a dump, so that questions need not read the dump again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hprof_format::printable;
use hprof_heap::Heap;

use super::incomplete::Sources;
use super::index_places::IndexPlaces;
use super::opened::OpenedDump;
use super::options::{Choice, GraphReading};
use super::{dump_in, fault};
use crate::amounts::Sizes;
use crate::failure::Failure;
use crate::input::is_standard;
use crate::terminal::Terminal;

/// `hprof heap index`.
#[derive(Args)]
pub struct Index {
    /// The dump, compressed or not
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    graph: GraphReading,
    /// Remove the index
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    sizes: Sizes,
}

impl Index {
    pub fn run(&self) -> Result<(), Failure> {
        let places = IndexPlaces::of(&self.file, self.choice.dump);
        if self.remove {
            return places.remove();
        }
        let is_file = fs::metadata(&self.file).is_ok_and(|found| found.is_file());
        if !is_file && self.file.exists() || is_standard(&self.file) {
            let message = "is not a regular file, and an index needs one that can be read again";
            return Err(Failure::about(&self.file, message));
        }
        // An index that is there is not used: it is to be made anew.
        let opened = OpenedDump::of(&self.file, self.choice.dump, false)?;
        if !opened.can_have_index() {
            let message = "is packed, or cut, so that it is not read where it is, and an index would not be used: unpack it and name the \
                           file that comes of it";
            return Err(Failure::about(&self.file, message));
        }
        let mut opened = opened.with_threads(self.graph.threads);
        let dump = dump_in(&mut opened, &self.file)?;
        let terminal = Terminal::new();
        let heap = Heap::of(&dump, &self.graph.options(), &terminal).map_err(fault(&self.file))?;
        let (index, bytes) = places.save(&heap, &terminal)?;
        terminal.clear();
        let mut out = io::stdout().lock();
        let index = printable(index.as_os_str().as_encoded_bytes());
        writeln!(out, "{index}: {}", self.sizes.text(bytes))
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        Sources::of(Vec::new(), &self.file, &dump).check()
    }
}
