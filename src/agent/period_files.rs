//! The files of a profile that continues in another one after a while (`rotate=`): their names, and how many stay (`keep=`).

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::os::{FileId, id_of_file};
use options::{Options, with_number};
use output::console;

/// Names the files of periods, and removes the oldest.
#[derive(Default)]
pub(super) struct PeriodFiles {
    /// `keep=`.
    keep: Option<usize>,
    files: VecDeque<PeriodFile>,
    /// The last requested name, and the number of times in a row it was requested.
    last: Option<(PathBuf, u32)>,
}

struct PeriodFile {
    path: PathBuf,
    /// What the file is recognized by.
    id: Option<FileId>,
}

impl PeriodFiles {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            keep: options.keep.map(|files| files as usize),
            ..Self::default()
        }
    }

    /// Returns the name of the next file: the wanted one, with a number if this profile has used it before.
    pub(super) fn name(&mut self, wanted: PathBuf) -> PathBuf {
        let mut number = match &self.last {
            Some((last, number)) if *last == wanted => number + 1,
            _ => 1,
        };
        let mut name = numbered(&wanted, number);
        while self.files.iter().any(|file| file.path == name) {
            number += 1;
            name = numbered(&wanted, number);
        }
        self.last = Some((wanted, number));
        name
    }

    /// Records the first file, whose name nobody has changed.
    pub(super) fn first(&mut self, wanted: Option<PathBuf>, file: &Path) {
        self.last = wanted.map(|wanted| (wanted, 1));
        self.opened(file);
    }

    /// Notes that a file has been opened.
    pub(super) fn opened(&mut self, path: &Path) {
        self.files.push_back(PeriodFile {
            path: path.to_owned(),
            id: id_of_file(path),
        });
    }

    /// Removes the oldest files beyond `keep=`, except any that someone else has put in their place.
    pub(super) fn remove_oldest(&mut self) {
        let Some(keep) = self.keep else {
            return;
        };
        while self.files.len() > keep {
            let Some(PeriodFile { path, id: known }) = self.files.pop_front() else {
                return;
            };
            if known.is_none() || id_of_file(&path) != known {
                continue;
            }
            if let Err(error) = fs::remove_file(&path) {
                let path = path.display();
                console::line(format_args!("{path}: {error}; keep= does not remove it"));
            }
        }
    }
}

fn numbered(wanted: &Path, number: u32) -> PathBuf {
    match number {
        1 => wanted.to_owned(),
        _ => with_number(wanted, number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(keep: Option<u32>) -> PeriodFiles {
        PeriodFiles::new(&Options {
            keep,
            ..Options::default()
        })
    }

    #[test]
    fn a_name_that_repeats_gets_a_number() {
        let mut files = files(None);
        let mut name = |wanted: &str| {
            let name = files.name(wanted.into());
            files.opened(&name);
            name.to_str().expect("UTF-8").to_owned()
        };
        assert_eq!(name("a.txt"), "a.txt");
        assert_eq!(name("a.txt"), "a.2.txt");
        assert_eq!(name("a.txt"), "a.3.txt");
        assert_eq!(name("b.hprof.gz"), "b.hprof.gz");
        assert_eq!(name("b.hprof.gz"), "b.2.hprof.gz");
        assert_eq!(name("a.txt"), "a.4.txt", "the clock may be set back");
    }

    #[test]
    fn the_oldest_files_go_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = files(Some(2));
        let path = |name: &str| folder.path().join(name);
        for name in ["1", "2", "3", "4"] {
            fs::write(path(name), name).expect("it can be written");
            files.opened(&path(name));
            if name == "2" {
                fs::rename(path("2"), path("mine")).expect("it is there");
                fs::write(path("2"), "another").expect("it can be written");
            }
            files.remove_oldest();
        }
        assert!(!path("1").exists());
        for name in ["2", "mine", "3", "4"] {
            assert!(path(name).exists(), "{name}");
        }
    }
}
