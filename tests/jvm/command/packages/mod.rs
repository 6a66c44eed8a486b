//! The output of `scripts/package`, in the folder that `HPROF_PACKAGES` names: it needs no more of a system than
//! documented, and each package, installed alone, profiles a program.

mod binaries;
mod elsewhere;
mod installs;
mod jar;
mod jmh;
mod maven;
mod musl;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Jvm, classes, skip};
use crate::heap::sites;
use crate::profile::Profile;

/// Returns the platforms whose files were made; reports if there are none.
fn platforms() -> Vec<(String, PathBuf)> {
    let Some(root) = packages().map(|packages| packages.join("root")) else {
        return Vec::new();
    };
    let entries = fs::read_dir(root).expect("the platforms");
    let folder = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").path();
    let name = |path: &Path| {
        path.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    entries
        .map(folder)
        .map(|path| (name(&path), path))
        .collect()
}

fn packages() -> Option<PathBuf> {
    let packages = std::env::var_os("HPROF_PACKAGES").map(PathBuf::from);
    if packages.is_none() {
        skip("tests of the packages: $HPROF_PACKAGES is not set, scripts/package has made none");
    }
    packages
}

/// Returns the only package whose name is `start`, a version and `end`; reports if there is none.
fn package(start: &str, end: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(packages()?.join("dist")).expect("the packages");
    let mut names = entries.map(|entry| entry.expect("an entry").path());
    let found = names.find(|path| {
        let name = path.file_name().expect("a name").to_string_lossy();
        name.strip_prefix(start)
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
            && name.ends_with(end)
            && !name.contains("-sources")
            && !name.contains("-javadoc")
    });
    if found.is_none() {
        skip(&format!(
            "tests of the package {start}*{end}: it was not made"
        ));
    }
    found
}

/// Returns `true` if the machine has the command; reports if it is missing.
fn has(command: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {command}")])
        .output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        skip(&format!(
            "tests of packages that take {command}: it is not installed"
        ));
    }
    found
}

/// Runs it to its end, expects success, and returns its output.
fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("a command");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {status}: {stdout}{stderr}");
    stdout.trim_end().to_owned()
}

/// Asserts that a program with a known result, with these options for the VM, leaves an exact profile.
fn assert_exact(jvm: &Jvm, folder: &Path, vm_option: &str) {
    let file = folder.join("alloc.txt");
    let mut java = Command::new(jvm.home.join("bin/java"));
    java.arg(format!(
        "{vm_option}=heap=sites,depth=3,cutoff=0,file={}",
        file.display()
    ));
    run(java.arg("-cp").arg(classes("sites")).arg("Alloc"));
    let text = fs::read_to_string(&file).expect("the profile");
    let profile = Profile::parse(&text);
    for (class, method, objects) in [
        ("Alloc$Kept", "Alloc.keepObjects", 1010),
        ("Alloc$Dropped", "Alloc.dropObjects", 5000),
        ("Alloc$Derived", "Alloc.derived", 200),
        ("java.lang.StringBuilder", "Alloc.make", 120),
    ] {
        let found = sites::count(&profile, profile.one_sites(), class, method).allocated;
        assert_eq!(found, objects, "{class} in {method}");
    }
}
