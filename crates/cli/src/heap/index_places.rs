//! The places where the index of a dump may be, and its use.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_format::printable;
use hprof_heap::{
    By, Dump, Heap, Histogram, Layout, Options, Saved, histogram_of, remove_index,
    remove_unfinished,
};
use hprof_os::{files, folders};

use crate::failure::Failure;
use crate::interrupts::BeforeTheEnd;
use crate::terminal::Terminal;

/// The least size of a dump that gets an index without being asked for one.
pub const LEAST: u64 = 32 << 20;
/// The most bytes of a dump's name in the name of its index in the cache folder, where both must fit.
const MOST: usize = 200;
/// The time after which an index in the cache folder is removed, if no question has used it.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The places where the index of a dump may be: next to it, and in the user's cache folder, for a folder that cannot be
/// written to.
pub struct IndexPlaces(Vec<PathBuf>);

impl IndexPlaces {
    /// Returns the places for a file, or for one of its dumps.
    pub fn of(file: &Path, dump: Option<usize>) -> IndexPlaces {
        // No file has an index of this name by itself: its own would end with `.index`.
        let ending = match dump {
            Some(number) => format!(".index.{number}"),
            None => ".index".to_owned(),
        };
        let mut with_end = file.as_os_str().to_owned();
        with_end.push(&ending);
        let mut places = vec![PathBuf::from(with_end)];
        if let (Some(folder), Ok(full)) = (cache_folder(), fs::canonicalize(file)) {
            let mut hasher = DefaultHasher::new();
            full.hash(&mut hasher);
            let name = full.file_name().unwrap_or_default().to_string_lossy();
            let name = &name[..name.floor_char_boundary(MOST)];
            places.push(folder.join(format!("{name}.{:016x}{ending}", hasher.finish())));
        }
        IndexPlaces(places)
    }

    /// Returns no place at all.
    pub fn none() -> IndexPlaces {
        IndexPlaces(Vec::new())
    }

    /// Finds a dump of a compressed file in an index that fits; also returns the temporary file with its content.
    pub fn dump_of_compressed(&self, file: &File, number: Option<usize>) -> Option<(File, Dump)> {
        self.0.iter().find_map(|index| {
            let content = tempfile::tempfile().ok()?;
            let dump = Dump::in_index(&content, number, file, index)?;
            Some((content, dump))
        })
    }

    /// Returns the graph from an index that fits.
    pub fn heap<'a>(&self, dump: &'a Dump, options: &Options) -> Option<Heap<'a>> {
        let mut saved = self.0.iter().filter_map(|path| Saved::open(dump, path));
        saved.find_map(|saved| saved.heap(options))
    }

    /// Returns the histogram from an index that fits.
    pub fn histogram(
        &self,
        dump: &Dump,
        by: By,
        layout: Option<Layout>,
    ) -> Option<Result<Histogram, hprof_heap::Error>> {
        let mut saved = self.0.iter().filter_map(|path| Saved::open(dump, path));
        saved.find_map(|saved| histogram_of(&saved, by, layout))
    }

    /// Saves the index of a dump that is large enough, unless there is one for other options. An error is a warning: the
    /// question can be answered without an index.
    pub fn save_if_worth_it(&self, heap: &Heap<'_>, terminal: &Terminal) {
        let is_there = |path: &PathBuf| Saved::open(heap.dump(), path).is_some();
        if heap.dump().length() < LEAST || self.0.iter().any(is_there) {
            return;
        }
        let saved = self.save(heap, terminal);
        let failed = saved.as_ref().err().and_then(Failure::message);
        // That the dump has changed is said of the answer.
        if let Some(why) = failed.filter(|_| heap.dump().check_unchanged().is_ok()) {
            // If nobody can read a warning, nothing else is lost.
            let _ = writeln!(
                io::stderr(),
                "hprof: warning: {}; without an index, the next question takes as long as this one",
                printable(why)
            );
        }
    }

    /// Saves the index at the first place that can be written to; returns the place and the length.
    pub fn save(&self, heap: &Heap<'_>, terminal: &Terminal) -> Result<(&Path, u64), Failure> {
        let mut first = Ok(());
        for (path, is_beside) in self.0.iter().zip([true, false]) {
            if !is_beside && let Some(folder) = path.parent() {
                // If this fails, saving reports it.
                let _ = folders::create_private(folder);
                remove_unused(folder);
            }
            let unfinished = path.clone();
            let _end = BeforeTheEnd::call(move || remove_unfinished(&unfinished));
            match heap.save_index(path, terminal) {
                Ok(length) => return Ok((path, length)),
                Err(error) => first = first.and(Err(Failure::about(path, error))),
            }
        }
        first.map(|()| (Path::new(""), 0))
    }

    /// Removes the index wherever it is.
    pub fn remove(&self) -> Result<(), Failure> {
        let (mut found, mut failed) = (false, Ok(()));
        for path in &self.0 {
            match remove_index(path) {
                Ok(()) => found = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = failed.and(Err(Failure::about(path, error))),
            }
        }
        match (found, self.0.first()) {
            (false, Some(path)) => failed.and(Err(Failure::about(path, "there is no index"))),
            _ => Ok(()),
        }
    }
}

/// Removes the indexes in the cache folder that were not used lately: nobody else does, once their dumps are gone.
fn remove_unused(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_unused = entry.metadata().is_ok_and(|found| {
            let times = [found.accessed(), found.modified()].into_iter().flatten();
            let mut ages = times.map(|time| time.elapsed().unwrap_or_default());
            found.is_file() && ages.all(|age| age > UNUSED)
        });
        if is_unused {
            // What is no index stays.
            let _ = remove_index(&entry.path());
        }
    }
}

/// Returns the folder for indexes in the user's cache.
fn cache_folder() -> Option<PathBuf> {
    let folder = folders::cache()?.join("hprof");
    folder.is_absolute().then_some(folder)
}

/// Returns `true` if the opened file is the one of this path, and not a copy of it.
pub fn is_itself(opened: &File, path: &Path) -> bool {
    files::id(opened).is_ok_and(|opened| files::id_at(path).is_ok_and(|named| named == opened))
}
