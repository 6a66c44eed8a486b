//! Information about a program in /proc.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Gid, Pid, Signal, Uid, geteuid, kill_process, pidfd_send_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::view::{Folder, View};
use super::{Error, TEMPORARY};

/// The bit of SIGQUIT in the masks of /proc/<pid>/status.
const QUIT: u64 = 1 << 2;
/// The most bytes that are read of a command line.
const LONGEST_COMMAND: u64 = 64 << 10;
/// The longest that a program that has closed all its files may take to end.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A JVM that this user may attach to.
pub struct Process {
    status: Status,
    /// Its folder in /proc, which never refers to another program, even if the id is reused.
    folder: OwnedFd,
    view: View,
    working_folder: Option<Folder>,
}

/// The contents of its /proc/<pid>/status.
struct Status {
    pid: u32,
    /// Its process id in its own namespace.
    own_pid: u32,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    catches_quit: bool,
    is_stopped: bool,
    is_over: bool,
}

impl Process {
    /// Looks up the program.
    pub fn find(pid: u32) -> Result<Self, Error> {
        let path = PathBuf::from(format!("/proc/{pid}"));
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::PermissionDenied => Error::File {
                path: path.clone(),
                error,
            },
            _ => Error::NoProcess(pid),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty());
        let folder = folder.map_err(|error| failed(error.into()))?;
        let status = Status::read(pid, &folder).map_err(failed)?;
        let status = status.ok_or(Error::NoProcess(pid))?;
        let user = geteuid().as_raw();
        if user != 0 && user != status.uid {
            let uid = status.uid;
            return Err(Error::AnotherUser { pid, uid });
        }
        let view = View::enter(folder.as_fd()).map_err(failed)?;
        let process = Self {
            working_folder: Folder::working(folder.as_fd()).ok(),
            status,
            folder,
            view,
        };
        if process
            .mapped("libjvm.so")
            .map_err(failed)?
            .next()
            .is_none()
        {
            return Err(Error::NotAJvm(pid));
        }
        Ok(process)
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.status.pid
    }

    /// Returns its process id in its own namespace.
    pub fn own_pid(&self) -> u32 {
        self.status.own_pid
    }

    /// Returns the id of its user.
    pub fn owner(&self) -> u32 {
        self.status.uid
    }

    /// Returns `true` if SIGQUIT would reach the VM by now instead of killing the program.
    pub fn catches_quit(&self) -> bool {
        let status = Status::read(self.status.pid, &self.folder);
        matches!(status, Ok(Some(status)) if status.catches_quit)
    }

    /// Returns `true` if it has been stopped, by a debugger or a shell for example.
    pub fn is_stopped(&self) -> bool {
        self.status.is_stopped
    }

    /// Returns the file system as the program sees it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns an error unless the program sees the same folder at this path.
    pub fn check_sees(&self, folder: &Path) -> Result<(), Error> {
        let theirs = self.view.find(folder);
        if theirs.is_ok_and(|theirs| theirs.is_at(folder)) {
            return Ok(());
        }
        Err(Error::NotSeen {
            pid: self.pid(),
            folder: folder.to_owned(),
        })
    }

    /// Returns its working folder, if it can be determined.
    pub fn working_folder(&self) -> Option<&Folder> {
        self.working_folder.as_ref()
    }

    /// Returns whether there is a regular file at a path, as the program sees it; `None` if there is nothing.
    pub fn is_regular(&self, path: &Path) -> Option<bool> {
        if path.is_absolute() {
            return Some(self.view.find(path).ok()?.kind() == FileType::RegularFile);
        }
        let found = self.working_folder()?.path().join(path).metadata().ok()?;
        Some(found.is_file())
    }

    /// Returns `true` if two paths lead to one file, as the program sees it.
    pub fn has_same_file(&self, one: &Path, other: &Path) -> bool {
        let find = |path: &Path| self.view.find(path).ok();
        find(one).is_some_and(|one| find(other).is_some_and(|other| one.is(&other)))
    }

    /// Opens the file in which its VM publishes data: /tmp/hsperfdata_<user>/<pid>.
    pub fn perf_data(&self) -> Option<File> {
        let temporary = self.view.folder(Path::new(TEMPORARY)).ok()?;
        let name = self.own_pid().to_string();
        temporary.names("hsperfdata_").iter().find_map(|folder| {
            // A file of that name that belongs to another user is left over, or a trap.
            let folder = temporary.folder(folder).ok()?;
            folder.open(&name, self.owner(), OFlags::RDONLY).ok()
        })
    }

    /// Iterates over the files of that name that it has mapped, and whether each still exists.
    pub fn mapped(&self, name: &str) -> io::Result<impl Iterator<Item = (PathBuf, bool)>> {
        let lines = BufReader::new(self.open("maps")?).split(b'\n');
        let files = lines.map_while(Result::ok).filter_map(mapped);
        Ok(files.filter(move |(path, _)| path.file_name().is_some_and(|file| file == name)))
    }

    /// Returns the machine that its executable is for, by its number in ELF.
    pub fn machine(&self) -> Option<u16> {
        let mut head = [0; 20];
        self.open("exe").ok()?.read_exact(&mut head).ok()?;
        let is_little = head[..6] == *b"\x7fELF\x02\x01";
        is_little.then(|| u16::from_le_bytes([head[18], head[19]]))
    }

    /// Returns `true` if its C library is musl.
    pub fn maps_musl(&self) -> io::Result<bool> {
        let lines = BufReader::new(self.open("maps")?).split(b'\n');
        let mut files = lines.map_while(Result::ok).filter_map(mapped);
        Ok(files.any(|(path, _)| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("ld-musl-"))
        }))
    }

    /// Returns the number of bytes it has in memory.
    pub fn resident(&self) -> Option<u64> {
        let status = self.text("status")?;
        let field = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = field.split_whitespace().next()?.parse().ok()?;
        kilobytes.checked_mul(1024)
    }

    /// Returns one of its current limits, by its name in /proc/<pid>/limits.
    pub fn limit(&self, name: &str) -> Option<String> {
        let limits = self.text("limits")?;
        let field = limits.lines().find_map(|line| line.strip_prefix(name))?;
        Some(field.split_whitespace().next()?.to_owned())
    }

    /// Reads one of its files in /proc.
    fn text(&self, name: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let mut file = self.open(name).ok()?.take(LONGEST_COMMAND);
        file.read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns its command line.
    pub fn command_line(&self) -> String {
        self.words().join(" ").trim_end().to_owned()
    }

    /// Returns the words of its command line.
    pub fn words(&self) -> Vec<String> {
        let mut bytes = Vec::new();
        if let Ok(file) = self.open("cmdline") {
            // A partial command line is enough.
            let _ = file.take(LONGEST_COMMAND).read_to_end(&mut bytes);
        }
        let words = bytes.split(|&byte| byte == 0);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    /// Permanently gives up root's rights if the program belongs to another user: from here on this process can do with
    /// the program's files only what the program's user can, wherever the program redirects them.
    pub fn act_as_its_user(&self) -> Result<(), Error> {
        let Status { uid, gid, .. } = self.status;
        if geteuid().as_raw() == uid {
            return Ok(());
        }
        let groups: Vec<Gid> = self
            .status
            .groups
            .iter()
            .map(|&id| Gid::from_raw(id))
            .collect();
        let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
        // The kernel keeps users per thread; this process has only one thread.
        set_thread_groups(&groups)
            .and_then(|()| set_thread_res_gid(group, group, group))
            .and_then(|()| set_thread_res_uid(user, user, user))
            .map_err(|error| Error::NotItsUser {
                pid: self.status.pid,
                uid,
                error: error.into(),
            })
    }

    /// Sends SIGQUIT.
    pub fn quit(&self) -> Result<(), Error> {
        let pid = self.status.pid;
        let sent = match pidfd_send_signal(&self.folder, Signal::QUIT) {
            // A kernel before 5.1, or a container whose rules are older than the call.
            Err(Errno::NOSYS | Errno::PERM) => {
                let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
                target.map_or(Err(Errno::SRCH), |pid| kill_process(pid, Signal::QUIT))
            }
            sent => sent,
        };
        sent.map_err(|error| match error {
            Errno::SRCH => Error::Ended(pid),
            error => Error::NoSignal {
                pid,
                error: error.into(),
            },
        })
    }

    /// Returns `true` if it has ended.
    pub fn has_ended(&self) -> bool {
        let status = Status::read(self.status.pid, &self.folder);
        !matches!(status, Ok(Some(status)) if !status.is_over)
    }

    /// As `has_ended`, and waits a little for one that has closed its files, which the kernel does before a program
    /// ends.
    pub fn is_ending(&self) -> bool {
        let end = Instant::now() + LAST_BREATH;
        while Instant::now() < end {
            if self.has_ended() {
                return true;
            }
            sleep(Duration::from_millis(10));
        }
        false
    }

    /// Returns the names in a folder of its folder in /proc; none if it has ended.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&self.folder, folder, flags, Mode::empty());
        let entries = opened.and_then(Dir::new).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        names.collect()
    }

    /// Opens a file of its folder in /proc.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        let file = openat(
            &self.folder,
            name,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(file.into())
    }
}

impl Status {
    fn read(pid: u32, folder: &OwnedFd) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut file = File::from(openat(folder, "status", flags, Mode::empty())?);
        let mut status = Vec::new();
        file.read_to_end(&mut status)?;
        // The program's name is in there unescaped, in UTF-8 or not.
        Ok(Self::parse(pid, &String::from_utf8_lossy(&status)))
    }

    /// Parses the status; `None` if the id is that of a thread.
    fn parse(pid: u32, status: &str) -> Option<Self> {
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        let numbers = |name| {
            let words = field(name).unwrap_or_default().split_whitespace();
            words.map_while(|word| word.parse().ok())
        };
        if numbers("Tgid").next() != Some(pid) {
            return None;
        }
        let caught = field("SigCgt").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let is_in = |states: [char; 2]| {
            field("State").is_some_and(|state| state.trim().starts_with(states))
        };
        Some(Self {
            pid,
            // The last one is that of the innermost namespace, the program's own.
            own_pid: numbers("NSpid").last().unwrap_or(pid),
            // The effective ones are second.
            uid: numbers("Uid").nth(1)?,
            gid: numbers("Gid").nth(1)?,
            groups: numbers("Groups").collect(),
            catches_quit: caught.is_some_and(|mask| mask & QUIT != 0),
            is_stopped: is_in(['T', 't']),
            is_over: is_in(['Z', 'X']),
        })
    }
}

/// Returns the path of this command, without links.
pub fn path_of_this_command() -> io::Result<PathBuf> {
    std::env::current_exe().and_then(fs::canonicalize)
}

/// Returns a path as it is printed for a shell to read.
pub fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    path.as_os_str().as_bytes().into()
}

/// Returns the process ids of all programs, in order.
pub fn ids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    ids
}

/// Returns the file in a line of /proc/<pid>/maps, and whether it still exists.
fn mapped(mut line: Vec<u8>) -> Option<(PathBuf, bool)> {
    let start = line.iter().position(|&byte| byte == b'/')?;
    let gone = b" (deleted)";
    let is_there = !line.ends_with(gone);
    if !is_there {
        line.truncate(line.len() - gone.len());
    }
    let path = std::ffi::OsString::from_vec(line.split_off(start));
    Some((Path::new(&path).to_owned(), is_there))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nState:\tS (sleeping)\nTgid:\t812\nPid:\t812\nUid:\t1000\t1001\t1000\t1000\n\
        Gid:\t100\t101\t100\t100\nGroups:\t4 24 \nNSpid:\t812\t7\nSigCgt:\t0000000181005ccf\n";

    #[test]
    fn the_ids_are_the_effective_ones_and_the_innermost() {
        let status = Status::parse(812, STATUS).expect("a process");
        assert_eq!((status.pid, status.own_pid), (812, 7));
        assert_eq!((status.uid, status.gid), (1001, 101));
        assert_eq!(status.groups, [4, 24]);
        assert!(status.catches_quit && !status.is_stopped && !status.is_over);
    }

    #[test]
    fn a_thread_is_no_process() {
        assert!(Status::parse(813, STATUS).is_none());
    }

    #[test]
    fn a_program_that_sigquit_would_kill_is_known() {
        let status = STATUS.replace("5ccf", "5ccb").replace("S (sl", "T (st");
        let status = Status::parse(812, &status).expect("a process");
        assert!(!status.catches_quit && status.is_stopped);
    }

    #[test]
    fn files_are_found_among_the_mappings() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 42 /opt/my jdk/lib/server/libjvm.so\n\
            7f01-7f02 rw-p 00001000 08:01 42 /opt/my jdk/lib/server/libjvm.so\n\
            7f02-7f03 r-xp 00000000 08:01 43 /a/libhprof.so (deleted)\n7f03-7f04 rw-p 00000000 00:00 0 [heap]\n";
        let files: Vec<_> = maps
            .lines()
            .filter_map(|line| mapped(line.into()))
            .collect();
        let jvm = ("/opt/my jdk/lib/server/libjvm.so".into(), true);
        let agent = ("/a/libhprof.so".into(), false);
        assert_eq!(files, [jvm.clone(), jvm, agent]);
    }
}
