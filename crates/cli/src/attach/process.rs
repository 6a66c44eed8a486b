//! What /proc tells of a program.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Error;

/// SIGQUIT in the masks of /proc/<pid>/status.
const QUIT: u64 = 1 << 2;

/// A JVM that this user may attach to.
pub struct Process {
    pid: u32,
    /// Its process id as it sees it itself.
    own_pid: u32,
    uid: u32,
    gid: u32,
    catches_quit: bool,
    is_stopped: bool,
    /// The files it has mapped, and whether each is still there.
    files: Vec<(PathBuf, bool)>,
}

impl Process {
    /// Looks the program up.
    pub fn find(pid: u32) -> Result<Self, Error> {
        let status = match fs::read_to_string(format!("/proc/{pid}/status")) {
            Ok(status) => status,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => {
                return Err(Error::NoProcess(pid));
            }
            Err(error) => {
                let path = format!("/proc/{pid}/status").into();
                return Err(Error::File { path, error });
            }
        };
        let mut process = Self::parse(pid, &status).ok_or(Error::NoProcess(pid))?;
        let user = rustix::process::geteuid().as_raw();
        if user != 0 && user != process.uid {
            let uid = process.uid;
            return Err(Error::AnotherUser { pid, uid });
        }
        let path = PathBuf::from(format!("/proc/{pid}/maps"));
        let maps = match fs::read_to_string(&path) {
            Ok(maps) => maps,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(Error::File { path, error });
            }
            Err(_) => return Err(Error::NoProcess(pid)),
        };
        process.files = mapped(&maps);
        if !process.maps("libjvm.so") {
            return Err(Error::NotAJvm(pid));
        }
        Ok(process)
    }

    /// `None` where the id is that of a thread.
    fn parse(pid: u32, status: &str) -> Option<Self> {
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        let number = |name, index| {
            let words = field(name).map(str::split_whitespace);
            words.and_then(|mut words| words.nth(index)?.parse().ok())
        };
        if number("Tgid", 0) != Some(pid) {
            return None;
        }
        let caught = field("SigCgt").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // The last is that of the innermost namespace, the program's own.
        let own_pid = field("NSpid").and_then(|ids| ids.split_whitespace().last()?.parse().ok());
        Some(Self {
            pid,
            own_pid: own_pid.unwrap_or(pid),
            // The effective ones are second.
            uid: number("Uid", 1)?,
            gid: number("Gid", 1)?,
            catches_quit: caught.is_some_and(|mask| mask & QUIT != 0),
            is_stopped: field("State").is_some_and(|state| state.trim().starts_with(['T', 't'])),
            files: Vec::new(),
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its process id as it sees it itself.
    pub fn own_pid(&self) -> u32 {
        self.own_pid
    }

    /// Its user and group.
    pub fn owner(&self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// Whether SIGQUIT would reach the VM instead of killing the program.
    pub fn catches_quit(&self) -> bool {
        self.catches_quit
    }

    /// Whether it has been stopped, as a debugger or a shell does.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// A file of its own view of the file system.
    pub fn path(&self, own: &Path) -> PathBuf {
        let relative = own.strip_prefix("/").unwrap_or(own);
        Path::new(&format!("/proc/{}/root", self.pid)).join(relative)
    }

    /// Its working folder.
    pub fn working_folder(&self) -> PathBuf {
        format!("/proc/{}/cwd", self.pid).into()
    }

    /// The files of that name that it has mapped, and whether each is still there.
    pub fn mapped<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a (PathBuf, bool)> {
        let has_name = move |path: &Path| path.file_name().is_some_and(|file| file == name);
        self.files.iter().filter(move |(path, _)| has_name(path))
    }

    /// Whether it has a file of that name mapped.
    fn maps(&self, name: &str) -> bool {
        self.mapped(name).next().is_some()
    }

    /// Its command line.
    pub fn command_line(&self) -> String {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let words = bytes.split(|&byte| byte == 0);
        let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
        words.join(" ").trim_end().to_owned()
    }
}

/// All JVMs that this user may attach to, by process id.
pub fn jvms() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut processes: Vec<Process> = ids.filter_map(|pid| Process::find(pid).ok()).collect();
    processes.sort_by_key(Process::pid);
    processes
}

/// The files of a /proc/<pid>/maps, once each.
fn mapped(maps: &str) -> Vec<(PathBuf, bool)> {
    let mut files: Vec<(PathBuf, bool)> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|start| &line[start..]))
        .map(|file| match file.strip_suffix(" (deleted)") {
            Some(file) => (file.into(), false),
            None => (file.into(), true),
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nState:\tS (sleeping)\nTgid:\t812\nPid:\t812\nUid:\t1000\t1001\t1000\t1000\n\
        Gid:\t100\t101\t100\t100\nNSpid:\t812\t7\nSigCgt:\t0000000181005ccf\n";

    #[test]
    fn the_ids_are_the_effective_ones_and_the_innermost() {
        let process = Process::parse(812, STATUS).expect("a process");
        assert_eq!((process.pid(), process.own_pid()), (812, 7));
        assert_eq!(process.owner(), (1001, 101));
        assert!(process.catches_quit() && !process.is_stopped());
    }

    #[test]
    fn a_thread_is_no_process() {
        assert!(Process::parse(813, STATUS).is_none());
    }

    #[test]
    fn a_program_that_sigquit_would_kill_is_known() {
        let status = STATUS.replace("5ccf", "5ccb").replace("S (sl", "T (st");
        let process = Process::parse(812, &status).expect("a process");
        assert!(!process.catches_quit() && process.is_stopped());
    }

    #[test]
    fn files_are_found_among_the_mappings() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 42 /opt/my jdk/lib/server/libjvm.so\n\
            7f01-7f02 rw-p 00001000 08:01 42 /opt/my jdk/lib/server/libjvm.so\n\
            7f02-7f03 r-xp 00000000 08:01 43 /a/libhprof.so (deleted)\n7f03-7f04 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(
            mapped(maps),
            [
                ("/a/libhprof.so".into(), false),
                ("/opt/my jdk/lib/server/libjvm.so".into(), true)
            ]
        );
    }
}
