//! The file system as a program sees it.
//!
//! The program may have created it, and may change it at any time: a folder may become a link, and a link may lead to
//! another user's file. So a path is looked up below the descriptor of the program's root, where links lead to the same
//! files as for the program and never outside, and a file is looked up only in a folder that is held open, where its
//! name must not be a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat,
    unlinkat,
};
use rustix::io::Errno;

/// The most links in one path, as in the kernel.
const MOST_LINKS: u32 = 40;
/// The flags for a place in the file system: the file is not opened, and need not be readable.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The program's `/`.
pub struct View {
    root: OwnedFd,
}

/// The file at a path, even if the path changes.
pub struct FoundFile {
    place: OwnedFd,
    stat: Stat,
}

/// A folder, even if its path changes.
pub struct Folder {
    place: OwnedFd,
}

impl View {
    /// Returns the view of the process with this folder in /proc.
    pub fn enter(process: BorrowedFd) -> io::Result<Self> {
        let root = openat(process, "root", PLACE | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root })
    }

    /// Looks up the program's `path`.
    pub fn find(&self, path: &Path) -> io::Result<FoundFile> {
        let flags = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.root, path, PLACE, Mode::empty(), flags) {
            Ok(place) => FoundFile::new(place),
            // A kernel before 5.6, or a container whose rules are older than the call.
            Err(Errno::NOSYS | Errno::PERM) => self.walk(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the folder at the program's `path`.
    pub fn folder(&self, path: &Path) -> io::Result<Folder> {
        let found = self.find(path)?;
        if found.kind() != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        Ok(Folder { place: found.place })
    }

    /// As `find`, part by part: the kernel follows no part, and `..` goes back to the previous folder of the walk.
    fn walk(&self, path: &Path) -> io::Result<FoundFile> {
        let mut way: Vec<FoundFile> = Vec::new();
        let mut ahead = parts(path);
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == Path::new("..") {
                way.pop();
                continue;
            }
            let folder = way.last().map_or(self.root.as_fd(), FoundFile::place);
            let found = FoundFile::at(folder, part.as_os_str())?;
            if found.kind() != FileType::Symlink {
                way.push(found);
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = readlinkat(found.place(), "", Vec::new())?;
            let target: PathBuf = OsStr::from_bytes(target.as_bytes()).into();
            if target.is_absolute() {
                way.clear();
            }
            ahead.extend(parts(&target));
        }
        match way.pop() {
            Some(found) => Ok(found),
            None => FoundFile::new(self.root.try_clone()?),
        }
    }
}

/// Returns the parts of a path except `/` and `.`, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().into())
        .collect()
}

impl FoundFile {
    fn new(place: OwnedFd) -> io::Result<Self> {
        let stat = fstat(&place)?;
        Ok(Self { place, stat })
    }

    /// Finds a name in a folder; does not follow a link.
    fn at(folder: BorrowedFd, name: &OsStr) -> io::Result<Self> {
        Self::new(openat(
            folder,
            name,
            PLACE | OFlags::NOFOLLOW,
            Mode::empty(),
        )?)
    }

    fn place(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }

    /// Returns its kind.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Returns the user who owns it.
    pub fn owner(&self) -> u32 {
        self.stat.st_uid
    }

    /// Returns `true` if both are the same file.
    pub fn is(&self, other: &Self) -> bool {
        (self.stat.st_dev, self.stat.st_ino) == (other.stat.st_dev, other.stat.st_ino)
    }

    /// Returns `true` if this process has the same file at `path`.
    pub fn is_at(&self, path: &Path) -> bool {
        let own = std::fs::metadata(path);
        own.is_ok_and(|own| (own.dev(), own.ino()) == (self.stat.st_dev, self.stat.st_ino))
    }

    /// Returns a path of this process that leads to it and nowhere else.
    pub fn path(&self) -> PathBuf {
        path_of(&self.place)
    }
}

impl Folder {
    /// Returns the working folder of the process with this folder in /proc.
    pub fn working(process: BorrowedFd) -> io::Result<Self> {
        let place = openat(process, "cwd", PLACE | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { place })
    }

    /// Finds a name in the folder; `None` if it is missing. Does not follow a link.
    pub fn find(&self, name: &str) -> io::Result<Option<FoundFile>> {
        match FoundFile::at(self.place.as_fd(), OsStr::new(name)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a private file; fails if it exists.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.place, name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(file.into())
    }

    /// Opens a regular file of this user; a link, a pipe or another user's file is an error.
    pub fn open(&self, name: &str, owner: u32, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let found = FoundFile::new(openat(&self.place, name, flags, Mode::empty())?)?;
        if found.kind() != FileType::RegularFile || found.owner() != owner {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(found.place.into())
    }

    /// Opens the subfolder of this name, which must not be a link.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let place = openat(&self.place, name, flags, Mode::empty())?;
        Ok(Self { place })
    }

    /// Returns the names in it that begin with `start`; none if it cannot be listed.
    pub fn names(&self, start: &str) -> Vec<String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.place, ".", flags, Mode::empty()).and_then(Dir::new);
        let entries = listed.into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        names.filter(|name| name.starts_with(start)).collect()
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) {
        let _ = unlinkat(&self.place, name, AtFlags::empty());
    }

    /// Returns a path of this process that leads to it and nowhere else.
    pub fn path(&self) -> PathBuf {
        path_of(&self.place)
    }
}

fn path_of(place: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", place.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Creates a root with the files `file` and `folder/file`, and links.
    fn root(links: &[(&str, &str)]) -> (TempDir, View) {
        let folder = TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("folder")).expect("a folder");
        for file in ["file", "folder/file"] {
            fs::write(path(file), file).expect("a file");
        }
        for (link, target) in links {
            symlink(target, path(link)).expect("a link");
        }
        let root = File::open(folder.path()).expect("it is there").into();
        (folder, View { root })
    }

    fn read(found: io::Result<FoundFile>) -> Option<String> {
        let found = found.ok()?;
        assert_ne!(found.kind(), FileType::Symlink);
        Some(fs::read_to_string(found.path()).expect("it can be read"))
    }

    #[test]
    fn a_path_ends_below_the_root_on_old_kernels_too() {
        let (_folder, view) = root(&[
            ("whole", "/folder"),
            ("part", "folder/../folder"),
            ("folder/up", "../../../../file"),
            ("far", "whole/up"),
            ("out", "/etc/passwd"),
            ("circle", "circle"),
            ("nowhere", "none"),
        ]);
        let cases = [
            ("/file", Some("file")),
            ("file", Some("file")),
            ("/../../file", Some("file")),
            ("/folder/./file", Some("folder/file")),
            ("/whole/file", Some("folder/file")),
            ("/part/file", Some("folder/file")),
            ("/folder/up", Some("file")),
            ("/far", Some("file")),
            ("/out", None),
            ("/circle", None),
            ("/nowhere", None),
            ("/file/file", None),
            ("/etc/passwd", None),
        ];
        for (path, content) in cases {
            let content = content.map(str::to_owned);
            assert_eq!(read(view.find(path.as_ref())), content, "{path}");
            assert_eq!(read(view.walk(path.as_ref())), content, "{path}");
        }
        let top = view.walk("/".as_ref()).expect("the root");
        assert!(top.is(&view.find("/".as_ref()).expect("the root")));
    }

    #[test]
    fn links_of_proc_lead_nowhere() {
        let root = File::open("/").expect("it is there").into();
        let view = View { root };
        let path: PathBuf = "/proc/self/cwd".into();
        assert!(view.find(&path).is_err());
    }

    #[test]
    fn a_file_in_a_folder_is_no_link_no_pipe_and_nobody_elses() {
        let (folder, view) = root(&[("link", "file"), ("folder/self", "../folder")]);
        let own = rustix::process::geteuid().as_raw();
        let top = view.folder("/".as_ref()).expect("the root");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        assert!(top.open("file", own, OFlags::RDONLY).is_ok());
        assert!(top.open("file", own + 1, OFlags::RDONLY).is_err());
        for name in ["link", "pipe", "folder", "none"] {
            assert!(top.open(name, own, OFlags::RDONLY).is_err(), "{name}");
        }
        assert!(top.folder("folder").is_ok());
        let inner = top.folder("folder").expect("it is there");
        assert!(inner.folder("self").is_err());
        let link = top.find("link").expect("it is there").expect("it");
        assert_eq!(link.kind(), FileType::Symlink);
        for name in ["file", "link", "pipe"] {
            assert!(top.create(name).is_err(), "{name}");
        }
        assert!(view.folder("/file".as_ref()).is_err());
    }
}
