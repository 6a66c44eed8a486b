//! `hprof heap index`: a file that holds the graph of a dump, so that questions need not read the dump again.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hprof_format::printable;
use hprof_heap::Heap;

use super::index_places::{IndexPlaces, is_itself};
use super::options::{Choice, GraphReading};
use super::{dump_in, fault};
use crate::amounts::Sizes;
use crate::failure::Failure;
use crate::input;
use crate::terminal::Terminal;

/// `hprof heap index`.
#[derive(Args)]
pub struct Index {
    /// The dump, which must not be compressed
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
        let opened = input::open_mappable(&self.file)?;
        if !is_itself(&opened, &self.file) {
            let message = "is compressed or not a regular file, and an index needs one that can be read again; unpack it first";
            return Err(Failure::about(&self.file, message));
        }
        let dump = dump_in(&opened, &self.file, self.choice.dump)?;
        let terminal = Terminal::new();
        let heap = Heap::of(&dump, &self.graph.options(), &terminal).map_err(fault(&self.file))?;
        let (index, bytes) = places.save(&heap, &terminal)?;
        terminal.clear();
        let mut out = io::stdout().lock();
        let index = printable(index.as_os_str().as_encoded_bytes());
        writeln!(out, "{index}: {}", self.sizes.text(bytes))
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))
    }
}
