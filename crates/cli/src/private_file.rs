//! Files that only this user can read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

const PRIVATE: u32 = 0o600;

/// Creates a file; that it exists already, as a link too, is an error.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PRIVATE);
    options.open(path)
}

/// Creates the file, or truncates it. A file or link that belongs to another user is an error, and is left unchanged;
/// devices, and anything other than a file behind a link of this user or the system, are opened as they are.
pub fn create(path: &Path) -> io::Result<File> {
    let user = geteuid().as_raw();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(PRIVATE);
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let (file, is_linked) = match options.clone().custom_flags(no_link).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            let owner = fs::symlink_metadata(path)?.uid();
            if owner != user && owner != 0 {
                return Err(foreign("is a link", owner));
            }
            (options.open(path)?, true)
        }
        file => (file?, false),
    };
    let found = file.metadata()?;
    let owner = found.uid();
    if !found.is_file() {
        return match is_linked || owner == user || owner == 0 {
            true => Ok(file),
            false => Err(foreign("is there", owner)),
        };
    }
    if owner != user {
        return Err(foreign("is there", owner));
    }
    file.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    file.set_len(0)?;
    Ok(file)
}

fn foreign(what: &str, owner: u32) -> io::Error {
    io::Error::other(format!(
        "{what} and belongs to user {owner}, who would see what is written; remove it, or name another file"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{chown, lchown, symlink};

    use tempfile::TempDir;

    use super::*;

    const OLD: &str = "what was there";

    /// A folder with a file that everybody may read.
    fn folder() -> TempDir {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, OLD).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
        folder
    }

    #[test]
    fn an_old_file_becomes_private_before_anything_is_written() {
        let folder = folder();
        let path = folder.path().join("file");
        symlink("file", folder.path().join("link")).expect("a link");
        for name in ["file", "link", "new"] {
            let mut file = create(&folder.path().join(name)).expect("it is ours");
            assert_eq!(file.metadata().expect("it").mode() & 0o777, 0o600);
            file.write_all(b"new").expect("it takes that");
        }
        assert_eq!(fs::read(path).expect("it is there"), b"new");
        create(Path::new("/dev/null")).expect("it is everybody's");
    }

    #[test]
    fn what_a_stranger_has_put_there_is_left_alone() {
        if geteuid().as_raw() != 0 {
            let _ = writeln!(
                io::stderr(),
                "skipped: output files that strangers have put there: only root can be somebody else"
            );
            return;
        }
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        symlink("file", path("link")).expect("a link");
        lchown(path("link"), Some(65_534), None).expect("root may");
        let refused = create(&path("link")).expect_err("it is a stranger's");
        assert!(
            refused
                .to_string()
                .starts_with("is a link and belongs to user 65534")
        );
        chown(path("file"), Some(65_534), None).expect("root may");
        let refused = create(&path("file")).expect_err("it is a stranger's");
        assert!(
            refused
                .to_string()
                .starts_with("is there and belongs to user 65534")
        );
        assert_eq!(fs::read_to_string(path("file")).expect("it is there"), OLD);
    }
}
