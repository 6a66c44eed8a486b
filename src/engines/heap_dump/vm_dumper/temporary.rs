//! The folder for the VM's dump, next to the target. The VM creates its file itself, and newer versions create one for
//! each of their threads, so a folder makes sure that everything can be removed.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::os::{PrivateFolder, c_path, process_is_there};
use locks::{Mutex, rank};

/// The place where temporary folders are created.
pub(super) struct TemporaryPlace {
    parent: PathBuf,
    /// The common prefix of the folders of all programs with this target.
    prefix: String,
    name: String,
    next: AtomicU32,
    /// The folder that currently exists.
    current: Current,
}

type Current = Arc<Mutex<Option<Arc<PrivateFolder>>, rank::TemporaryFolder>>;

/// A folder that only the user can access; removed on drop.
pub(super) struct Folder {
    opened: Arc<PrivateFolder>,
    current: Current,
}

/// The name of the VM's file.
const FILE: &str = "heap";

impl TemporaryPlace {
    /// Chooses a place next to `target`; if that is not a regular file (a pipe, a device), the system's temporary
    /// folder.
    pub(super) fn next_to(target: &Path) -> Self {
        let is_file = fs::metadata(target).is_ok_and(|metadata| metadata.is_file());
        let parent = match target.parent() {
            _ if !is_file => std::env::temp_dir(),
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.");
        Self {
            parent,
            name: format!("{prefix}{}", std::process::id()),
            prefix,
            next: AtomicU32::new(0),
            current: Arc::default(),
        }
    }

    /// Creates a new folder.
    pub(super) fn make(&self) -> io::Result<Folder> {
        self.sweep();
        loop {
            let folder = self.make_one()?;
            // Another program may have removed it before it was locked.
            if folder.opened.path().exists() {
                return Ok(folder);
            }
        }
    }

    /// Removes the folders that killed programs have left behind. A folder in use is locked, also by a program in
    /// another container, whose process number means nothing here.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.parent) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left_behind = name
                .to_str()
                .and_then(|name| program_of(name, &self.prefix))
                .is_some_and(|program| !process_is_there(program));
            if is_left_behind {
                let _ = remove_unlocked(&entry.path());
            }
        }
    }

    fn make_one(&self) -> io::Result<Folder> {
        let path = loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.parent.join(format!("{}.{number}", self.name));
            match PrivateFolder::create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                answer => break answer.map(|()| path),
            }
        };
        let path = path.map_err(|error| at(&self.parent, error))?;
        let opened = PrivateFolder::open(&path).map_err(|error| at(&path, error))?;
        let opened = Arc::new(opened);
        *self.current.lock() = Some(opened.clone());
        // On a file system without locks the process number decides.
        let _ = opened.try_lock();
        Ok(Folder {
            opened,
            current: self.current.clone(),
        })
    }

    /// Removes the current folder, which will not be dropped any more.
    pub(super) fn clear(&self) {
        if let Some(folder) = self.current.lock().take() {
            remove(&folder);
        }
    }
}

/// Returns the process that owns a folder, from `<prefix><process>.<number>`.
fn program_of(name: &str, prefix: &str) -> Option<u32> {
    let (program, number) = name.strip_prefix(prefix)?.split_once('.')?;
    number.parse::<u32>().ok()?;
    program.parse().ok()
}

/// Removes a folder of this user that nobody has locked.
fn remove_unlocked(path: &Path) -> io::Result<()> {
    let folder = PrivateFolder::open(path)?;
    if folder.try_lock() {
        remove(&folder);
    }
    Ok(())
}

/// Removes the files in a folder, and the folder if nothing else has its path. What cannot be removed stays.
fn remove(folder: &PrivateFolder) {
    let files = fs::read_dir(folder.by_handle()).into_iter().flatten();
    for file in files.flatten() {
        let _ = fs::remove_file(file.path());
    }
    // Fails for a folder in which there is something.
    let _ = fs::remove_dir(folder.path());
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Folder {
    /// Returns the path of the file that the VM is to write.
    pub(super) fn file(&self) -> PathBuf {
        self.opened.by_handle().join(FILE)
    }

    /// Returns the same path for the VM. It has ASCII letters alone: the VM decodes it in the encoding of the user's locale,
    /// which may have no others.
    pub(super) fn name_for_the_vm(&self) -> io::Result<CString> {
        c_path(self.file())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may have been removed already.
        remove(&self.opened);
        *self.current.lock() = None;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn target(name: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join(name);
        fs::write(&target, "").expect("a file");
        (folder, target)
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).expect("the folder").count()
    }

    #[test]
    fn the_folder_is_the_users_alone_and_goes_with_all_in_it() {
        let (parent, target) = target("x.hprof");
        let folder = TemporaryPlace::next_to(&target).make().expect("room");
        let mode = fs::metadata(folder.opened.path())
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(folder.file(), "a").expect("a file");
        fs::write(folder.file().with_extension("p0"), "b").expect("a part");
        drop(folder);
        assert_eq!(files(parent.path()), 1, "the target itself");
    }

    #[test]
    fn what_is_left_behind_is_passed_over_and_what_nobody_drops_is_cleared() {
        let (parent, target) = target("x.hprof");
        let place = TemporaryPlace::next_to(&target);
        fs::create_dir(parent.path().join(format!("{}.0", place.name))).expect("a folder");
        std::mem::forget(place.make().expect("room"));
        assert_eq!(files(parent.path()), 3);
        place.clear();
        assert_eq!(files(parent.path()), 2);
        place.clear();
    }

    #[test]
    fn folders_of_killed_programs_are_swept_and_no_others() {
        let (parent, target) = target("x.hprof");
        let make = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join(FILE), "a dump").expect("a file");
            path
        };
        // A number that no process has.
        let killed = make(".x.hprof.4000000001.0");
        let in_use = make(".x.hprof.4000000002.0");
        let lock = File::open(&in_use).expect("a folder");
        lock.try_lock().expect("not locked yet");
        let alive = make(&format!(".x.hprof.{}.7", std::process::id()));
        let others = [
            make(".y.hprof.4000000001.0"),
            make(".x.hprof.4000000001.old"),
        ];
        drop(TemporaryPlace::next_to(&target).make().expect("room"));
        assert!(!killed.exists());
        assert!(in_use.exists() && alive.exists() && others.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_folder_that_others_have_exchanged_is_left_alone() {
        let (parent, target) = target("x.hprof");
        let folder = TemporaryPlace::next_to(&target).make().expect("room");
        let path = |name: &str| parent.path().join(name);
        fs::rename(folder.opened.path(), path("moved")).expect("it is ours");
        fs::create_dir(path("precious")).expect("a folder");
        fs::write(path("precious/a"), "a").expect("a file");
        fs::rename(path("precious"), folder.opened.path()).expect("it is ours");
        let name = folder.name_for_the_vm().expect("no NUL");
        fs::write(name.to_str().expect("ASCII"), "a dump").expect("it works");
        assert!(path("moved/heap").exists());
        let exchanged = folder.opened.path().to_owned();
        drop(folder);
        assert!(exchanged.join("a").exists());
        assert!(!path("moved/heap").exists());
    }

    #[test]
    fn a_link_is_not_swept() {
        let (parent, target) = target("x.hprof");
        let path = |name: &str| parent.path().join(name);
        fs::create_dir(path("precious")).expect("a folder");
        fs::write(path("precious/a"), "a").expect("a file");
        symlink("precious", path(".x.hprof.4000000001.0")).expect("a link");
        drop(TemporaryPlace::next_to(&target).make().expect("room"));
        assert!(path("precious/a").exists());
    }

    #[test]
    fn the_vm_gets_a_name_in_ascii() {
        let (_parent, target) = target("h\u{e9}.hprof");
        let folder = TemporaryPlace::next_to(&target).make().expect("room");
        let name = folder.name_for_the_vm().expect("no NUL");
        let name = Path::new(name.to_str().expect("ASCII"));
        assert!(name.as_os_str().is_ascii());
        fs::write(name, "a").expect("it works");
        assert!(folder.file().exists());
    }
}
