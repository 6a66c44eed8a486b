//! Files that only this user can read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

use super::own;

const PRIVATE: u32 = 0o600;
/// The most links that are followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// A link in place of a file.
pub(super) struct Link {
    pub owner: u32,
    /// What it leads to; `None` if it is a descriptor of this process, which has a target but no path.
    pub target: Option<PathBuf>,
}

/// Creates a file, for reading too; that it exists already, as a link too, is an error.
///
/// # Errors
/// Those of `open`.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(PRIVATE);
    options.open(path)
}

/// Creates the file, or truncates it unless `refuse` returns an error. A file or link that belongs to another user is an
/// error, and is left unchanged; devices, and anything other than a file behind a link of this user or the system, are
/// opened as they are.
///
/// # Errors
/// Those of `refuse` and `open`, and if it belongs to somebody else.
pub fn create(path: &Path, refuse: impl FnOnce(&File) -> io::Result<()>) -> io::Result<File> {
    let (file, is_linked) = open_or_create(path)?;
    let found = file.metadata()?;
    let owner = found.uid();
    if !found.is_file() {
        return match is_linked || is_trusted(owner) {
            true => Ok(file),
            false => Err(foreign("is there", owner)),
        };
    }
    if owner != geteuid().as_raw() {
        return Err(foreign("is there", owner));
    }
    refuse(&file)?;
    file.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    file.set_len(0)?;
    Ok(file)
}

/// Opens the file, or creates it; also returns whether it was behind a link. The target that is opened is that of the link
/// whose owner was looked at, even if another link has its name by now.
fn open_or_create(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(PRIVATE);
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut path = path.to_owned();
    for link in 0..MOST_LINKS {
        match options.clone().custom_flags(no_link).open(&path) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {}
            file => return Ok((file?, link > 0)),
        }
        let link = own::link(&path)?;
        if !is_trusted(link.owner) {
            return Err(foreign("is a link", link.owner));
        }
        // Nobody can exchange a descriptor.
        let Some(target) = link.target else {
            return Ok((options.open(&path)?, true));
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        path = folder.join(target);
    }
    Err(Errno::LOOP.into())
}

/// Returns `true` for this user and the system's.
fn is_trusted(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw()
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use tempfile::TempDir;

    use super::*;

    fn create(path: &Path) -> io::Result<File> {
        super::create(path, |_| Ok(()))
    }

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
    fn links_are_followed_one_after_the_other() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).expect("a folder");
        symlink("../file", path("sub/up")).expect("a link");
        symlink("sub/up", path("far")).expect("a link");
        symlink(path("far"), path("farther")).expect("a link");
        symlink("missing", path("to a new one")).expect("a link");
        symlink("circle", path("circle")).expect("a link");
        for (link, file) in [("farther", "file"), ("to a new one", "missing")] {
            let mut file_of_link = create(&path(link)).expect("it is ours");
            file_of_link
                .write_all(link.as_bytes())
                .expect("it takes that");
            assert_eq!(fs::read_to_string(path(file)).expect("it is there"), link);
        }
        assert!(create(&path("circle")).is_err());
    }

    #[test]
    fn what_is_refused_keeps_its_content() {
        let folder = folder();
        let path = folder.path().join("file");
        let refused = super::create(&path, |_| Err(io::Error::other("no")));
        assert_eq!(refused.expect_err("it is refused").to_string(), "no");
        assert_eq!(fs::read_to_string(path).expect("it is there"), OLD);
    }

    /// Exchanges a link again and again for one of a stranger, which leads to a file of this user.
    #[test]
    fn a_link_that_is_exchanged_meanwhile_does_no_harm() {
        if geteuid().as_raw() != 0 {
            let _ = writeln!(
                io::stderr(),
                "skipped: links that a stranger exchanges: only root can be somebody else"
            );
            return;
        }
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("precious"), OLD).expect("a file");
        symlink("file", path("own")).expect("a link");
        symlink("precious", path("theirs")).expect("a link");
        lchown(path("theirs"), Some(65_534), None).expect("root may");
        fs::rename(path("own"), path("link")).expect("it is ours");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let (one, other) = (path("theirs"), path("link"));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("it can");
                }
            });
            for _ in 0..20_000 {
                let _ = create(&path("link"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let precious = fs::read_to_string(path("precious")).expect("it is there");
        assert_eq!(precious, OLD);
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
