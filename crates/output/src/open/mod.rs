//! Opens the file of `file=`, never so that another user gets the profile, and never blocking until another process
//! opens its end.

mod error;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use error::FileError;
pub(super) use error::Opened;

/// Only the user may read a profile: names in it may be secret.
const PRIVATE: u32 = 0o600;
/// The number of names tried for a file that replaces another.
pub(super) const NAMES: u32 = 100;
/// The number of times a file is reopened when another has just replaced it.
const ATTEMPTS: u32 = 10;
/// The longest chain of links that is followed.
const LINKS: usize = 40;
/// The longest that a pipe may be without a reader: a script starts the reader and the program side by side.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The interval at which a pipe is checked for a reader.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The bytes by which the kind of a file is recognized.
const FIRST_BYTES: u64 = 64;

/// Bits of a mode: others may write; only owners may replace what is in a folder.
const WRITABLE_BY_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Creates the file, or opens an existing one, which is left unchanged for now.
pub(super) fn open(path: &Path) -> Result<Opened, FileError> {
    let mut opened = open_once(path)?;
    for _ in 0..ATTEMPTS {
        // The process that was writing to it may have released it only after another had replaced the file: the new one
        // counts.
        let found_at = opened.found_at.as_deref().filter(|_| opened.is_plain);
        if found_at.is_none_or(|found_at| is_at(&opened.file, found_at).unwrap_or(true)) {
            break;
        }
        opened = open_once(path)?;
    }
    Ok(opened)
}

fn open_once(path: &Path) -> Result<Opened, FileError> {
    let target = follow(path)?;
    if !target.is_handed_over {
        match create_new(&target.path) {
            Err(error) if error.exists_already() => {}
            created => return created,
        }
    }
    let file = open_existing(&target)?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if !(kind.is_file() || kind.is_fifo() || kind.is_char_device()) {
        return Err(FileError::Kind);
    }
    // From here on a slow reader is waited for.
    rustix::io::ioctl_fionbio(&file, false).map_err(io::Error::from)?;
    let is_plain = kind.is_file() && !target.is_handed_over;
    if is_plain {
        take(&file, &metadata)?;
    } else if kind.is_fifo() && !target.is_handed_over && !is_trusted(&metadata) {
        return Err(FileError::Foreign(metadata.uid()));
    }
    Ok(Opened {
        file,
        is_plain,
        is_pipe: kind.is_fifo(),
        found_at: Some(target.path),
    })
}

/// Puts a new file, empty and private, in the place of `old`, if that is still at `path`. A process that has the old
/// one open continues reading it. If the folder accepts no new file, the old one is truncated instead.
pub(super) fn replace(old: File, path: &Path) -> io::Result<File> {
    if let Ok(new) = replace_by_another(&old, path) {
        return Ok(new);
    }
    old.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    old.set_len(0)?;
    Ok(old)
}

fn replace_by_another(old: &File, path: &Path) -> io::Result<File> {
    // Any other file that is there by now must not be lost.
    if !is_at(old, path)? {
        return Err(ErrorKind::NotFound.into());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let process = std::process::id();
    for number in 0..NAMES {
        let temporary = folder.join(format!(".hprof-{process}-{number}"));
        let new = match create_new(&temporary) {
            Ok(new) => new.file,
            Err(error) if error.exists_already() => continue,
            Err(FileError::System(error)) => return Err(error),
            Err(error) => return Err(io::Error::other(error)),
        };
        return match fs::rename(&temporary, path) {
            Ok(()) => Ok(new),
            Err(error) => {
                // The file is empty, and ours.
                let _ = fs::remove_file(&temporary);
                Err(error)
            }
        };
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns `true` if the open file is the one at the path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (own, found) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// Creates the file; fails if there is a file or a link.
pub(super) fn create_new(path: &Path) -> Result<Opened, FileError> {
    let file = create_private(path)?;
    lock(&file)?;
    Ok(Opened {
        file,
        is_plain: true,
        is_pipe: false,
        found_at: None,
    })
}

/// Creates a file that only this user can read, and opens it for reading and writing. That it exists already, as a link
/// too, is an error.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.mode(PRIVATE).open(path)
}

/// The target of a path, after its links are followed.
struct Target {
    path: PathBuf,
    /// `true` if it is a descriptor of this process (`/dev/stdout`): the user who started the program chose the file
    /// and its mode.
    is_handed_over: bool,
}

/// Follows the links in the last part of a path, as long as nobody else controls their targets.
fn follow(path: &Path) -> Result<Target, FileError> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        // What is looked at is read, even if another link has its name by then.
        let found = open_place(&path).and_then(|place| Ok((place.metadata()?, place)));
        let (link, place) = match found {
            Ok((found, place)) if found.is_symlink() => (found, place),
            // A missing file is created, and one that cannot be examined cannot be opened either.
            _ => {
                return Ok(Target {
                    path,
                    is_handed_over: false,
                });
            }
        };
        if is_of_proc(&link) {
            return Ok(Target {
                path,
                is_handed_over: true,
            });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if !is_trusted(&link) || !is_guarded(&fs::metadata(&folder)?) {
            return Err(FileError::ForeignLink);
        }
        let target = rustix::fs::readlinkat(place, "", Vec::new()).map_err(io::Error::from)?;
        path = folder.join(OsStr::from_bytes(target.as_bytes()));
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP).into())
}

/// Opens what is at a path for looking at it; a link is not followed.
fn open_place(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Returns `true` if there is nothing at a path, or a regular file that `is_of_kind` accepts by its first bytes. A
/// pipe is not waited for, and a link not followed.
pub fn may_be_replaced(path: &Path, is_of_kind: impl FnOnce(&[u8]) -> bool) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let file = match options.read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(false),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    file.take(FIRST_BYTES).read_to_end(&mut first)?;
    Ok(is_of_kind(&first))
}

fn open_existing(target: &Target) -> Result<File, FileError> {
    let mut flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    if !target.is_handed_over {
        flags |= libc::O_NOFOLLOW;
    }
    let mut options = OpenOptions::new();
    options
        .write(true)
        .append(target.is_handed_over)
        .custom_flags(flags);
    let end = Instant::now() + TIMEOUT;
    loop {
        match options.open(&target.path) {
            Err(error) if is_unread_pipe(&error, &target.path) => {
                if Instant::now() >= end {
                    return Err(FileError::NoReader);
                }
                thread::sleep(POLL_INTERVAL);
            }
            opened => return Ok(opened?),
        }
    }
}

fn is_unread_pipe(error: &io::Error, path: &Path) -> bool {
    error.raw_os_error() == Some(libc::ENXIO)
        && fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Locks a file that existed before; one that belongs to another user is refused.
fn take(file: &File, metadata: &Metadata) -> Result<(), FileError> {
    if metadata.uid() != own_id() {
        return Err(FileError::Foreign(metadata.uid()));
    }
    lock(file)
}

/// Locks the file until it is closed.
fn lock(file: &File) -> Result<(), FileError> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(FileError::InUse),
        // Not every file system has locks.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

/// Returns `true` if the file belongs to the user, or to root, who may do anything.
fn is_trusted(metadata: &Metadata) -> bool {
    metadata.uid() == own_id() || metadata.uid() == 0
}

/// Returns `true` if other users cannot replace the user's links in this folder.
fn is_guarded(folder: &Metadata) -> bool {
    is_trusted(folder) && folder.mode() & (WRITABLE_BY_OTHERS | STICKY) != WRITABLE_BY_OTHERS
}

fn is_of_proc(link: &Metadata) -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.dev() == link.dev())
}

fn own_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{chown, lchown, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn refusal(path: &Path) -> String {
        match open(path) {
            Ok(_) => panic!("{} was opened", path.display()),
            Err(error) => error.to_string(),
        }
    }

    fn is_root() -> bool {
        let is_root = own_id() == 0;
        if !is_root {
            // Written directly: libtest captures what a test prints.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: output files of strangers: only root can give a file to somebody else"
            );
        }
        is_root
    }

    #[test]
    fn only_what_is_of_a_kind_may_be_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "kind").expect("a file");
        symlink("file", path("link")).expect("a link");
        let made = std::process::Command::new("mkfifo")
            .arg(path("pipe"))
            .status();
        assert!(made.expect("mkfifo").success());
        let may = |name, kind: &[u8]| may_be_replaced(&path(name), |first| first == kind);
        assert!(may("missing", b"").expect("it can be said"));
        assert!(may("file", b"kind").expect("it can be said"));
        for (name, kind) in [("file", "other"), ("link", "kind"), ("pipe", "")] {
            assert!(
                !may(name, kind.as_bytes()).expect("it can be said"),
                "{name}"
            );
        }
    }

    /// Exchanges a link again and again for one of a stranger, which leads to another file of this user.
    #[test]
    fn a_link_that_is_exchanged_meanwhile_does_not_count() {
        if own_id() != 0 {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        symlink("own", path("link")).expect("a link");
        symlink("precious", path("theirs")).expect("a link");
        lchown(path("theirs"), Some(65_534), None).expect("root may");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let (one, other) = (path("theirs"), path("link"));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("it can");
                }
            });
            let found = (0..20_000).filter_map(|_| follow(&path("link")).ok());
            let is_trusted = found
                .map(|target| target.path)
                .all(|path| !path.ends_with("precious"));
            is_over.store(true, Ordering::Relaxed);
            assert!(is_trusted);
        });
    }

    #[test]
    fn a_file_that_is_opened_is_not_touched() {
        let folder = folder();
        let path = folder.path().join("x");
        fs::write(&path, "old").expect("a file");
        set_mode(&path, 0o644);
        assert!(open(&path).expect("it is ours").is_plain);
        assert_eq!(mode(&path), 0o644);
        assert_eq!(fs::read(&path).expect("a file"), b"old");
    }

    #[test]
    fn a_file_that_takes_the_place_of_another_is_locked_as_that_was() {
        let folder = folder();
        let path = folder.path().join("x");
        fs::write(&path, "old").expect("a file");
        let opened = open(&path).expect("it is ours");
        let new = replace(opened.file, &path).expect("the folder is ours");
        assert_eq!(refusal(&path), "another profile is being written into it");
        drop(new);
        open(&path).expect("it is free again");
        let names = fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(names.count(), 1, "nothing else is left");
    }

    #[test]
    fn what_somebody_else_has_put_there_meanwhile_stays() {
        let folder = folder();
        let path = folder.path().join("x");
        fs::write(&path, "old").expect("a file");
        let opened = open(&path).expect("it is ours");
        fs::remove_file(&path).expect("it is ours");
        fs::write(&path, "other").expect("a file");
        let mut new = replace(opened.file, &path).expect("the old one can be emptied");
        new.write_all(b"profile").expect("there is room");
        assert_eq!(fs::read(&path).expect("a file"), b"other");
    }

    #[test]
    fn a_strangers_file_does_not_get_the_profile() {
        if !is_root() {
            return;
        }
        let folder = folder();
        let path = folder.path().join("x");
        fs::write(&path, "theirs").expect("a file");
        set_mode(&path, 0o666);
        chown(&path, Some(12_345), None).expect("root may");
        assert_eq!(refusal(&path), "it belongs to another user (uid 12345)");
        assert_eq!(mode(&path), 0o666);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "theirs");
    }

    #[test]
    fn links_are_followed_where_nobody_else_controls_them() {
        let folder = folder();
        let [link, file] = ["link", "file"].map(|name| folder.path().join(name));
        symlink("file", &link).expect("a link");
        // The link creates the file at its target.
        open(&link).expect("both are ours");
        assert_eq!(mode(&file), 0o600);
        set_mode(folder.path(), 0o777);
        assert_eq!(refusal(&link), "it is a link that other users control");
        set_mode(folder.path(), 0o1777);
        open(&link).expect("nobody else can replace it");
        if is_root() {
            std::os::unix::fs::lchown(&link, Some(12_345), None).expect("root may");
            assert_eq!(refusal(&link), "it is a link that other users control");
        }
    }

    #[test]
    fn a_link_to_itself_leads_nowhere() {
        let folder = folder();
        let link = folder.path().join("link");
        symlink("link", &link).expect("a link");
        refusal(&link);
    }

    #[test]
    fn a_descriptor_keeps_its_mode_and_its_content() {
        let folder = folder();
        let path = folder.path().join("x");
        fs::write(&path, "old").expect("a file");
        set_mode(&path, 0o644);
        let file = File::open(&path).expect("a file");
        let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let opened = open(Path::new(&name)).expect("it was handed over");
        assert!(!opened.is_plain);
        assert_eq!(mode(&path), 0o644);
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone() {
        let folder = folder();
        let path = folder.path().join("x");
        let first = open(&path).expect("a new file");
        assert_eq!(refusal(&path), "another profile is being written into it");
        drop(first);
        open(&path).expect("it is free again");
    }

    #[test]
    fn a_folder_and_a_socket_are_refused() {
        let folder = folder();
        refusal(folder.path());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        refusal(&socket);
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_given_up() {
        let folder = folder();
        let pipe = folder.path().join("pipe");
        let mkfifo = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(mkfifo.expect("mkfifo").success());
        assert_eq!(refusal(&pipe), "nobody reads from this pipe");
    }
}
