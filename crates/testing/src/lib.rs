//! What tests of several packages share. What the tests of one need is with them.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::str;
use std::sync::Mutex;

use hprof_profile::{Profile, Wanted, load};

/// Reports once that something is not tested, directly to stderr, because libtest captures what a test prints. `scripts/test`
/// repeats it at its end.
pub fn skip(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().expect("nothing panics inside");
    if said.insert(what.to_owned()) {
        let _ = writeln!(io::stderr(), "skipped: {what}");
    }
}

/// Creates an empty folder of this name in `target`, the test's `CARGO_TARGET_TMPDIR`. Unlike a temporary one it stays, so that
/// its files can be looked at.
pub fn empty_folder(target: &str, name: impl AsRef<Path>) -> PathBuf {
    let path = Path::new(target).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

/// [`empty_folder()`] in the target directory of the test that calls it.
#[macro_export]
macro_rules! empty_folder {
    ($name:expr) => {
        $crate::empty_folder(env!("CARGO_TARGET_TMPDIR"), $name)
    };
}

/// Runs a program in a folder to its end.
pub fn run_in(
    folder: &Path,
    program: &str,
    arguments: impl IntoIterator<Item: AsRef<OsStr>>,
) -> Output {
    let mut command = Command::new(program);
    let command = command.current_dir(folder).args(arguments);
    command.output().expect("the program starts")
}

/// Returns the text that a program has written.
#[track_caller]
pub fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("UTF-8")
}

/// Returns what a program has written to stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Reads the last report of a file without faults.
#[track_caller]
pub fn sound_profile(file: &[u8]) -> Profile {
    sound_report(file, Wanted::Last)
}

/// Reads a report of a file without faults.
#[track_caller]
pub fn sound_report(file: &[u8], wanted: Wanted) -> Profile {
    let loaded = load(file, wanted).expect("it is sound");
    assert!(loaded.fault.is_none(), "{:?}", loaded.fault);
    loaded.profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_empty_each_time() {
        let target = tempfile::tempdir().expect("a folder");
        let target = target.path().to_str().expect("UTF-8");
        let folder = empty_folder(target, "test/one");
        fs::write(folder.join("file"), "of the run before").expect("a file");
        assert_eq!(empty_folder(target, "test/one"), folder);
        assert_eq!(fs::read_dir(folder).expect("the folder").count(), 0);
    }
}
