//! The folders whose files may be read and written.

use std::fs;
use std::path::{Component, Path, PathBuf, Prefix};

use hprof_format::printable;

use crate::failure::Failure;

/// The folders, without links in their paths.
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Looks up the folders.
    pub fn find(named: &[PathBuf]) -> Result<Folders, Failure> {
        let found = named.iter().map(|folder| {
            let about = |error| Failure::about(folder, error);
            let found = folder.canonicalize().map_err(about)?;
            match found.is_dir() {
                true => Ok(found),
                false => Err(Failure::about(folder, "is not a folder")),
            }
        });
        Ok(Folders(found.collect::<Result<_, _>>()?))
    }

    /// Returns the path of a regular file in one of them, without links; a relative path begins at the first that has it.
    pub fn file(&self, named: &str) -> Result<PathBuf, String> {
        let path = self.absolute(named)?;
        let found = match path.canonicalize() {
            Ok(found) if self.have(&found) => found,
            // Nothing is said about what is elsewhere, not even that it is missing.
            Err(error) if self.have_folder_of(&path) => return Err(about(&path, error)),
            Ok(_) | Err(_) => return Err(self.outside(named)),
        };
        let metadata = fs::metadata(&found).map_err(|error| about(&path, error))?;
        match metadata.is_file() {
            true => Ok(dunce::simplified(&found).to_owned()),
            false => Err(about(&path, "is not a regular file")),
        }
    }

    /// Returns the paths of two files to compare, or of one if both are in it.
    pub fn pair(&self, base: &str, new: Option<&str>) -> Result<Vec<PathBuf>, String> {
        let named = std::iter::once(base).chain(new);
        named.map(|file| self.file(file)).collect()
    }

    /// Returns the path of a file that is yet to be written, which may have nothing in its name that an option of the agent
    /// gives a meaning to.
    pub fn new_file(&self, named: &str) -> Result<PathBuf, String> {
        let path = self.absolute(named)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(self.outside(named));
        };
        let folder = folder.canonicalize().map_err(|_| self.outside(named))?;
        if !self.have(&folder) {
            return Err(self.outside(named));
        }
        let path = dunce::simplified(&folder.join(name)).to_owned();
        if path.symlink_metadata().is_ok() {
            return Err(about(&path, "exists, and is not replaced"));
        }
        let is_plain = path
            .to_str()
            .is_some_and(|path| !path.contains([',', '%']) && !path.contains(char::is_control));
        match is_plain {
            true => Ok(path),
            false => Err(about(
                &path,
                "a path for a profile has no `,`, no `%` and no control characters",
            )),
        }
    }

    /// Returns the folders as text.
    pub fn names(&self) -> String {
        let names = self.0.iter().map(|folder| printable_path(folder));
        names.collect::<Vec<_>>().join(", ")
    }

    fn absolute(&self, named: &str) -> Result<PathBuf, String> {
        if self.is_on_another_machine(Path::new(named)) {
            return Err(self.outside(named));
        }
        let candidates = || self.0.iter().map(|folder| folder.join(named));
        let there = candidates().find(|path| path.exists());
        Ok(there.or_else(|| candidates().next()).unwrap_or_default())
    }

    /// Returns `true` for a path of Windows on another machine or a device that none of the folders is on. It must not even be
    /// looked for: Windows would prove to that machine who the user is, and the password could be guessed from the proof.
    fn is_on_another_machine(&self, path: &Path) -> bool {
        let Some(start @ Component::Prefix(prefix)) = path.components().next() else {
            return false;
        };
        let is_drive = matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_));
        let begins = |folder: &PathBuf| {
            let mut written = [folder.as_path(), dunce::simplified(folder)].into_iter();
            written.any(|folder| folder.components().next() == Some(start))
        };
        !is_drive && !self.0.iter().any(begins)
    }

    fn have(&self, path: &Path) -> bool {
        self.0.iter().any(|folder| path.starts_with(folder))
    }

    fn have_folder_of(&self, path: &Path) -> bool {
        let folder = path.parent().map(Path::canonicalize);
        folder.is_some_and(|folder| folder.is_ok_and(|folder| self.have(&folder)))
    }

    fn outside(&self, named: &str) -> String {
        format!(
            "{}: is not in {}, which are the only folders that this server reads and writes",
            printable(named),
            self.names()
        )
    }
}

fn printable_path(path: &Path) -> String {
    let path = dunce::simplified(path).to_string_lossy();
    printable(&*path).into_owned()
}

fn about(path: &Path, what: impl std::fmt::Display) -> String {
    format!("{}: {what}", printable_path(path))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_files_below_the_folders_are_found() {
        let all = tempfile::tempdir().expect("a folder");
        let inside = all.path().join("inside");
        let outside = all.path().join("outside");
        for folder in [&inside, &outside] {
            fs::create_dir(folder).expect("a folder");
            fs::write(folder.join("a.hprof"), "").expect("a file");
        }
        symlink(outside.join("a.hprof"), inside.join("link")).expect("a link");
        symlink(&outside, inside.join("folder")).expect("a link");
        symlink(inside.join("a.hprof"), inside.join("within")).expect("a link");
        // Its name only begins with that of the folder.
        fs::create_dir(all.path().join("inside2")).expect("a folder");
        fs::write(all.path().join("inside2/b"), "").expect("a file");
        let folders = Folders::find(std::slice::from_ref(&inside));
        let Ok(folders) = folders else {
            panic!("the folder is there")
        };
        let real = inside.canonicalize().expect("a path").join("a.hprof");
        assert_eq!(folders.file("a.hprof"), Ok(real.clone()));
        assert_eq!(folders.file("within"), Ok(real.clone()));
        assert_eq!(folders.file(real.to_str().expect("UTF-8")), Ok(real));
        let absolute = outside.join("a.hprof").display().to_string();
        for named in [
            "link",
            "folder/a.hprof",
            "folder/missing",
            "../outside/a.hprof",
            "../inside2/b",
            &absolute,
            "/etc/passwd",
            "/no/such/file",
        ] {
            let refused = folders.file(named).expect_err(named);
            assert!(refused.contains("only folders"), "{refused}");
        }
        for (named, reason) in [("missing", "No such file"), (".", "not a regular file")] {
            let refused = folders.file(named).expect_err(named);
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn new_files_replace_nothing_and_stay_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("old"), "").expect("a file");
        symlink("/tmp/elsewhere", folder.path().join("link")).expect("a link");
        let Ok(folders) = Folders::find(&[folder.path().to_owned()]) else {
            panic!("the folder is there")
        };
        assert!(folders.new_file("new.hprof").is_ok());
        for (named, reason) in [
            ("old", "exists"),
            ("link", "exists"),
            ("../new", "only folders"),
            ("/etc/new", "only folders"),
            ("a,force=y", "no `,`"),
            ("a%p", "no `%`"),
            ("a\nb", "no control"),
            ("..", "only folders"),
        ] {
            let refused = folders.new_file(named).expect_err(named);
            assert!(refused.contains(reason), "{named}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}

#[cfg(test)]
#[cfg(windows)]
mod windows_tests {
    use super::*;

    #[test]
    fn only_files_below_the_folders_are_found() {
        let all = tempfile::tempdir().expect("a folder");
        let inside = all.path().join("inside");
        for folder in ["inside", "outside"] {
            let folder = all.path().join(folder);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("a.hprof"), "").expect("a file");
        }
        let Ok(folders) = Folders::find(std::slice::from_ref(&inside)) else {
            panic!("the folder is there")
        };
        let found = folders.file("A.hprof").expect("it is there");
        assert!(!found.to_string_lossy().starts_with(r"\\?\"), "{found:?}");
        assert!(!folders.names().contains('?'), "{}", folders.names());
        let absolute = found.to_str().expect("UTF-8");
        assert_eq!(folders.file(absolute), Ok(found.clone()));
        let outside = all.path().join("outside").join("a.hprof");
        for named in [
            r"..\outside\a.hprof",
            "../outside/a.hprof",
            &outside.display().to_string(),
            r"C:\Windows\win.ini",
            r"\\host\share\a.hprof",
            r"\\?\UNC\host\share\a.hprof",
            r"\\.\pipe\a",
        ] {
            let refused = folders.file(named).expect_err(named);
            assert!(refused.contains("only folders"), "{refused}");
            assert!(folders.new_file(named).is_err(), "{named}");
        }
    }

    #[test]
    fn paths_on_other_machines_are_not_looked_at() {
        let folders = Folders(vec![PathBuf::from(r"\\?\UNC\host\share\dumps")]);
        for (path, is_elsewhere) in [
            (r"\\host\share\dumps\a", true),
            (r"\\?\UNC\host\share\dumps\a", false),
            (r"\\other\share\dumps\a", true),
            (r"\\?\UNC\other\share\a", true),
            (r"\\.\NUL", true),
            (r"D:\a", false),
            ("a", false),
        ] {
            let path = Path::new(path);
            assert_eq!(
                folders.is_on_another_machine(path),
                is_elsewhere,
                "{path:?}"
            );
        }
    }
}
