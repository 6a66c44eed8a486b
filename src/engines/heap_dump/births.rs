//! The births file next to a heap dump: when each tracked object was made.
//!
//! It is written under a temporary name and replaces that of an earlier profile once the dump is whole. Whatever goes wrong
//! with it, the dump continues.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use hprof_format::{BirthsHead, BirthsWriter, ObjectBirth, ObjectId, births_path, is_births};
use memory::{List, OrStop};

use super::{DumpOutput, Subject};
use crate::engines::allocations::Origin;
use output::console;
use output::{create_private, may_be_replaced};

/// Writes the births file of one dump.
pub(super) struct BirthsFile<'a> {
    /// The path of the dump's file.
    dump: &'a Path,
    /// The number of the dump in its file.
    number: u32,
    written: Option<TemporaryFile>,
}

/// The file as long as it has its temporary name; it is removed when this is dropped.
struct TemporaryFile {
    path: PathBuf,
    writer: Option<BirthsWriter<BufWriter<File>>>,
}

impl<'a> BirthsFile<'a> {
    pub(super) fn next_to(dump: &'a Path) -> Self {
        Self {
            dump,
            number: 1,
            written: None,
        }
    }

    /// Begins the file.
    pub(super) fn begin(&mut self, head: &BirthsHead) {
        self.number = head.dump;
        let created = TemporaryFile::new(self.dump, head);
        self.written = self.reported(created);
    }

    /// Adds an object.
    pub(super) fn add(&mut self, birth: ObjectBirth) {
        let writer = self.written.as_mut().and_then(|file| file.writer.as_mut());
        if let Some(writer) = writer {
            let added = writer.add(birth);
            if self.reported(added).is_none() {
                self.written = None;
            }
        }
    }

    /// Ends the file: the dump is whole.
    pub(super) fn finish(&mut self) {
        if let Some(file) = self.written.take() {
            let finished = file.finish(&births_path(self.dump, self.number));
            self.reported(finished);
        }
    }

    fn reported<T>(&self, answer: io::Result<T>) -> Option<T> {
        answer
            .inspect_err(|error| {
                let path = births_path(self.dump, self.number);
                console::line(format_args!(
                    "{}: {error}; the heap dump has no births",
                    path.display()
                ));
            })
            .ok()
    }
}

/// The births of the tracked objects, as long as their ids are not known.
pub(super) struct BirthList {
    /// See [`DumpOutput::births`].
    pub(super) next: u32,
    /// The moment and the identity of each; `None` if they are not wanted.
    births: Option<List<(u32, u64)>>,
}

impl BirthList {
    pub(super) fn new(subject: &Subject<'_>) -> Self {
        let births = subject
            .births
            .then(|| List::with_capacity(subject.tracked.len()).or_stop());
        Self { next: 0, births }
    }

    pub(super) fn push(&mut self, origin: &Origin) {
        if let Some(births) = &mut self.births {
            births.push((origin.moment, origin.identity)).or_stop();
        }
    }

    /// Writes the births of the objects with these ids; 0 is the id of one that has died.
    pub(super) fn write(self, ids: impl Iterator<Item = ObjectId>, output: &mut dyn DumpOutput) {
        let Some(births) = self.births else {
            return;
        };
        output.births(self.next);
        for (object, (moment, identity)) in ids.zip(births) {
            if object != ObjectId(0) {
                output.born(ObjectBirth {
                    object,
                    identity,
                    moment,
                });
            }
        }
    }
}

impl TemporaryFile {
    fn new(dump: &Path, head: &BirthsHead) -> io::Result<Self> {
        let folder = super::folder_of(dump);
        for number in 0.. {
            let name = format!(".hprof.{}.{number}.births", std::process::id());
            let path = folder.join(name);
            match create_private(&path) {
                // The file was left by a killed program with this number, or belongs to one in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    let mut temporary = Self { path, writer: None };
                    let writer = BirthsWriter::new(BufWriter::new(file), head)?;
                    temporary.writer = Some(writer);
                    return Ok(temporary);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn finish(mut self, path: &Path) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        check_replaceable(path)?;
        fs::rename(&self.path, path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It has another name if it was finished.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns an error if something other than a births file has this path.
fn check_replaceable(path: &Path) -> io::Result<()> {
    match may_be_replaced(path, is_births)? {
        true => Ok(()),
        false => Err(io::Error::other(
            "a file that is not a births file has this name",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> BirthsHead {
        BirthsHead {
            dump: 1,
            ..BirthsHead::default()
        }
    }

    #[test]
    fn only_a_births_file_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let dump = folder.path().join("x.hprof");
        let births = folder.path().join("x.hprof.births");
        let write = || {
            let mut file = BirthsFile::next_to(&dump);
            file.begin(&first());
            file.finish();
        };
        let names = || fs::read_dir(folder.path()).expect("a folder").count();
        write();
        write();
        assert!(is_births(&fs::read(&births).expect("the file")));
        assert_eq!(names(), 1);
        fs::write(&births, "mine").expect("a file");
        write();
        assert_eq!(
            (fs::read(&births).expect("the file"), names()),
            (b"mine".to_vec(), 1)
        );
    }

    #[test]
    fn a_dump_that_breaks_off_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let dump = folder.path().join("x.hprof");
        let mut file = BirthsFile::next_to(&dump);
        file.begin(&first());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
