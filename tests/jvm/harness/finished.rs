//! The results of a program that has ended.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use super::cli;

/// A program that has ended.
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub(super) folder: TempDir,
}

impl Finished {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", path.display(), self.stderr))
    }

    /// Returns the names of the files in the folder.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }

    /// Returns the number that the program printed after `name`.
    pub fn printed(&self, name: &str) -> f64 {
        let line = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {}", self.stdout))
    }

    /// Runs `hprof <command>` on a file; returns its success and its outputs. The agent's own files must pass the
    /// strict check.
    pub fn hprof(&self, command: &str, name: &str) -> (bool, String, String) {
        let strict = if command == "check" { "--strict" } else { "--" };
        let output = Command::new(cli())
            .args([command, strict])
            .arg(self.path(name))
            .output()
            .expect("hprof");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    /// Returns the output of `hprof top` for one value in a profile.
    pub fn top(&self, name: &str, value: &str) -> serde_json::Value {
        let output = Command::new(cli())
            .args(["top", "--json", "-n", "0", "--value", value])
            .arg(self.path(name))
            .output()
            .expect("hprof");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Returns the binary file as text; it must pass `hprof check`.
    pub fn checked_text(&self, name: &str) -> String {
        let (sound, _, fault) = self.hprof("check", name);
        assert!(sound, "{fault}");
        let (sound, text, fault) = self.hprof("text", name);
        assert!(sound, "{fault}");
        text
    }
}
