//! A file with heap dumps, which is mapped as it is, or unpacked.

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;

use hprof_format::{AccessPoints, printable};
use hprof_heap::{Dump, Heap, Options};

use super::fault;
use super::incomplete;
use super::index_places::{IndexPlaces, LEAST, is_itself};
use crate::amounts::size;
use crate::failure::Failure;
use crate::input::{self, ForDump};
use crate::terminal::Terminal;

/// A file with heap dumps.
pub struct OpenedDump<'p> {
    path: &'p Path,
    /// The number of the dump; `None` for the last.
    number: Option<usize>,
    /// The content, or as much of it as there is.
    content: File,
    /// The compressed file, and the points from which it can be unpacked again.
    compressed: Option<(File, AccessPoints)>,
    /// The dump of a compressed file, from its index.
    indexed: Option<Dump>,
    places: IndexPlaces,
    /// The most threads that read the dump; `None` for the usual number.
    threads: Option<NonZero<usize>>,
}

impl<'p> OpenedDump<'p> {
    /// Opens a file for one of its dumps. A compressed one is unpacked to a temporary file, unless it has an index.
    pub fn of(
        path: &'p Path,
        number: Option<usize>,
        uses_index: bool,
    ) -> Result<OpenedDump<'p>, Failure> {
        let places = |file: &File| match uses_index && is_itself(file, path) {
            true => IndexPlaces::of(path, number),
            false => IndexPlaces::none(),
        };
        let (places, content, compressed, indexed) = match input::open_for_dump(path)? {
            ForDump::Plain(content) => (places(&content), content, None, None),
            ForDump::Compressed(file) => {
                let places = places(&file);
                match places.dump_of_compressed(&file, number) {
                    Some((content, dump)) => (places, content, None, Some(dump)),
                    None => {
                        let (content, points) = input::unpack(&file, path)?;
                        let compressed = points.map(|points| (file, points));
                        (places, content, compressed, None)
                    }
                }
            }
        };
        Ok(OpenedDump {
            path,
            number,
            content,
            compressed,
            indexed,
            places,
            threads: None,
        })
    }

    /// Sets the most threads that read the dump, if a number is given.
    pub fn with_threads(self, threads: Option<NonZero<usize>>) -> OpenedDump<'p> {
        OpenedDump { threads, ..self }
    }

    /// Returns `true` if an index of the dump would be used: a file that is read where it is, or can be from points within.
    pub fn can_have_index(&self) -> bool {
        self.compressed.is_some() || is_itself(&self.content, self.path)
    }

    /// Returns the content, or as much of it as there is: at least what is outside of dumps.
    pub fn content(&self) -> &File {
        &self.content
    }

    /// Returns the places where the index of the dump may be.
    pub fn places(&self) -> &IndexPlaces {
        &self.places
    }

    /// Finds the dump.
    pub fn dump(&mut self) -> Result<Dump, hprof_heap::Error> {
        let mut dump = self.find_dump()?;
        if let Some(threads) = self.threads {
            dump.use_threads(threads);
        }
        Ok(dump)
    }

    fn find_dump(&mut self) -> Result<Dump, hprof_heap::Error> {
        match (self.indexed.take(), &self.compressed) {
            (Some(dump), _) => Ok(dump),
            (None, None) => Dump::open(&self.content, self.number),
            (None, Some((file, points))) => {
                if points.length >= LEAST {
                    let name = self.path.display().to_string();
                    let folder = env::temp_dir().display().to_string();
                    let bytes = size(points.length);
                    // If nobody reads it, that does not matter.
                    let _ = writeln!(
                        io::stderr(),
                        "hprof: {}: unpacked to a temporary file of {bytes} in {}",
                        printable(&name),
                        printable(&folder)
                    );
                }
                Dump::of_compressed(&self.content, self.number, file, points)
            }
        }
    }

    /// Reads the graph of the dump, or its index, and passes it to `then`.
    pub fn with_heap<T>(
        &self,
        dump: &Dump,
        options: &Options,
        then: impl FnOnce(&Heap<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let explained = |failure| {
            let line = incomplete::line(self.path, dump);
            incomplete::explained(failure, line.as_deref())
        };
        if let Some(heap) = self.places.heap(dump, options) {
            return then(&heap).map_err(explained);
        }
        let terminal = Terminal::new();
        let heap = Heap::of(dump, options, &terminal);
        if let Ok(heap) = &heap {
            self.places.save_if_worth_it(heap, &terminal);
        }
        terminal.clear();
        let heap = heap.map_err(fault(self.path)).map_err(explained)?;
        then(&heap).map_err(explained)
    }
}
