//! What the system knows of a program.

use std::borrow::Cow;
use std::env;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hprof_os::programs::Program;
use hprof_os::remote_call::Call;

use super::error::Error;

/// The VM's library.
const VM: &str = "jvm.dll";
/// The longest that a program that has closed all its files may take to end.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A JVM that this user may attach to.
pub struct Process {
    pid: u32,
    program: Program,
    /// Its VM's library.
    vm: PathBuf,
}

impl Process {
    /// Looks up the program.
    pub fn find(pid: u32) -> Result<Self, Error> {
        let program = Program::open(pid).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Error::File {
                path: format!("process {pid}").into(),
                error,
            },
            _ => Error::NoProcess(pid),
        })?;
        if program.has_ended() {
            return Err(Error::NoProcess(pid));
        }
        let mut libraries = program.libraries().into_iter();
        let vm = libraries.find(|path| is_named(path, VM));
        let vm = vm.ok_or(Error::NotAJvm(pid))?;
        Ok(Self { pid, program, vm })
    }

    /// Returns its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Has a thread of the program call a function of its VM with these texts.
    pub(super) fn call_vm(&self, function: &CStr, texts: [&CStr; 5]) -> io::Result<Call<'_>> {
        Call::begin(&self.program, &self.vm, function, texts)
    }

    /// Returns whether there is a regular file at a path; `None` if there is nothing. The program's working folder is not known.
    pub fn is_regular(&self, path: &Path) -> Option<bool> {
        let found = path.is_absolute().then(|| fs::metadata(path).ok())?;
        Some(found?.is_file())
    }

    /// Returns `true` if two paths lead to one file.
    pub fn has_same_file(&self, one: &Path, other: &Path) -> bool {
        let whole = |path: &Path| path.canonicalize().ok();
        whole(one).is_some_and(|one| whole(other) == Some(one))
    }

    /// Iterates over the libraries of that name that it has loaded, and whether each still exists.
    pub fn mapped(&self, name: &str) -> io::Result<impl Iterator<Item = (PathBuf, bool)>> {
        let libraries = self.program.libraries().into_iter();
        let named = libraries.filter(move |path| is_named(path, name));
        Ok(named.map(|path| {
            let is_there = path.is_file();
            (path, is_there)
        }))
    }

    /// Opens the file in which its VM publishes data: `%TEMP%\hsperfdata_<user>\<pid>`.
    pub fn perf_data(&self) -> Option<File> {
        let folders = fs::read_dir(env::temp_dir()).ok()?.flatten();
        let mut folders = folders.filter(|folder| {
            let name = folder.file_name();
            name.to_string_lossy().starts_with("hsperfdata_")
        });
        folders.find_map(|folder| File::open(folder.path().join(self.pid.to_string())).ok())
    }

    /// Returns the path of its executable.
    pub fn command_line(&self) -> String {
        self.words().join(" ")
    }

    /// Returns the path of its executable: the system shows the arguments of others to debuggers only.
    pub fn words(&self) -> Vec<String> {
        let first = self.program.libraries().into_iter().next();
        let words = first.map(|path| path.to_string_lossy().into_owned());
        words.into_iter().collect()
    }

    /// The rights are those of this user already, whose programs alone can be opened.
    pub fn act_as_its_user(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Every program sees the same folders.
    pub fn check_sees(&self, _: &Path) -> Result<(), Error> {
        Ok(())
    }

    /// Returns `true` if it has ended.
    pub fn has_ended(&self) -> bool {
        self.program.has_ended()
    }

    /// As `has_ended`, and waits a little.
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
}

/// Returns `true` if a file has this name; upper and lower case do not count.
fn is_named(path: &Path, name: &str) -> bool {
    let file = path.file_name();
    file.is_some_and(|file| file.eq_ignore_ascii_case(name))
}

/// Returns the numbers of all processes, in order.
pub fn ids() -> Vec<u32> {
    hprof_os::programs::ids()
}

/// Returns the path of this command.
pub fn path_of_this_command() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Returns a path as it is printed.
pub fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    match path.to_string_lossy() {
        Cow::Borrowed(text) => text.as_bytes().into(),
        Cow::Owned(text) => text.into_bytes().into(),
    }
}
