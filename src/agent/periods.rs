//! The outputs of a profile that continues in a new one for each period (`rotate=`).

use std::collections::VecDeque;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::output::{self, OpenOutput};
use super::{Outputs, StartError};
use crate::console;
use crate::lock_order::{Mutex, rank};
use crate::options::{Options, Rotate, with_number};
use crate::output::Writer;
use crate::session::{Destination, PeriodLength, Rotation};

/// The files of one profile, the oldest first.
pub(super) type Files = Arc<Mutex<PeriodFiles, rank::PeriodFiles>>;

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
    /// The file's device and inode numbers, by which it is recognized.
    id: Option<(u64, u64)>,
}

impl PeriodFiles {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            keep: options.keep.map(|files| files as usize),
            ..Self::default()
        }
    }

    /// Returns the name of the next file: the wanted one, with a number if this profile has used it before.
    fn name(&mut self, wanted: PathBuf) -> PathBuf {
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

    /// Notes that a file has been opened.
    fn opened(&mut self, path: &Path) {
        self.files.push_back(PeriodFile {
            path: path.to_owned(),
            id: id(path),
        });
    }

    /// Removes the oldest files beyond `keep=`, except any that someone else has put in their place.
    fn remove_oldest(&mut self) {
        let Some(keep) = self.keep else {
            return;
        };
        while self.files.len() > keep {
            let Some(PeriodFile { path, id: known }) = self.files.pop_front() else {
                return;
            };
            if known.is_none() || id(&path) != known {
                continue;
            }
            if let Err(error) = fs::remove_file(&path) {
                let path = path.display();
                console::line(format_args!("{path}: {error}; keep= leaves it there"));
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

fn id(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    found.is_file().then(|| (found.dev(), found.ino()))
}

/// Returns the rotation that the options request, after the first output.
pub(super) fn rotation(outputs: Outputs, first: Option<&Path>) -> Option<Rotation> {
    let length = match outputs.options.rotate? {
        Rotate::Every(time) => PeriodLength::Time(time),
        Rotate::Bytes(bytes) => PeriodLength::Bytes(bytes),
    };
    {
        let mut files = outputs.files.lock();
        if let Some(first) = first {
            let wanted = output::path(&outputs.options).ok().flatten();
            files.last = wanted.map(|wanted| (wanted, 1));
            files.opened(first);
        }
    }
    let has_failed = AtomicBool::new(false);
    let next = move || match next(&outputs) {
        Ok(opened) => {
            has_failed.store(false, Ordering::Relaxed);
            Some(opened)
        }
        Err(error) => {
            if !has_failed.swap(true, Ordering::Relaxed) {
                console::line(format_args!(
                    "{error}; the profile goes on in the output that it has"
                ));
            }
            None
        }
    };
    Some(Rotation {
        length,
        next: Box::new(next),
    })
}

fn next(outputs: &Outputs) -> Result<(Destination, Writer), StartError> {
    let path = output::path(&outputs.options)?;
    let path = path.map(|wanted| outputs.files.lock().name(wanted));
    let output = open(outputs, path.as_deref())?;
    if let OpenOutput {
        file: Some(file), ..
    } = &output
    {
        outputs.files.lock().opened(file);
    }
    outputs.start(output, false)
}

/// Opens the next output. If its file cannot be opened, because someone has put another file or a link in its place,
/// the period gets a file with an unpredictable name.
fn open(outputs: &Outputs, path: Option<&Path>) -> Result<OpenOutput, StartError> {
    let options = &outputs.options;
    let (error, path) = match (output::open(options, path), path) {
        (Err(error @ StartError::File { .. }), Some(path)) => (error, path),
        (opened, _) => return opened,
    };
    let other = with_number(
        path,
        format_args!("{:016x}", RandomState::new().hash_one(path)),
    );
    // If the folder is at fault, the first error says so.
    let Ok(output) = output::open(options, Some(&other)) else {
        return Err(error);
    };
    let other = other.display();
    console::line(format_args!("{error}; this period goes to {other}"));
    Ok(output)
}

/// Called when an output has been closed.
pub(super) fn closed(files: &Files) {
    files.lock().remove_oldest();
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
