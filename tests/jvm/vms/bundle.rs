//! The folder into which the jar extracts its files, where other users may write. The jar is one with files of a few bytes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::harness::{any_jvm, javac, skip};

/// A platform, of which the jar has the files.
const PLATFORM: &str = "linux-none-gnu";

/// The classes and the files of a jar, in a folder.
fn jar() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("java/src/main/java");
    let compiled = Command::new(javac())
        .args(["-nowarn", "-Xlint:-options", "--release", "11", "-d"])
        .arg(folder.path())
        .arg("-sourcepath")
        .arg(&sources)
        .arg(sources.join("io/hprof/Main.java"))
        .status();
    assert!(compiled.expect("javac").success());
    let files = folder.path().join("native").join(PLATFORM);
    fs::create_dir_all(&files).expect("a folder");
    fs::write(files.join("libhprof.so"), "a library").expect("a file");
    folder
}

fn extract(jar: &TempDir, properties: &[&OsStr]) -> Output {
    Command::new(any_jvm().home.join("bin/java"))
        .args(properties)
        .arg("-cp")
        .arg(jar.path())
        .args(["io.hprof.Main", "agent-path", PLATFORM])
        .output()
        .expect("java")
}

fn property(name: &str, folder: &Path) -> std::ffi::OsString {
    let mut property = std::ffi::OsString::from(format!("-D{name}="));
    property.push(folder);
    property
}

fn extracted(jar: &TempDir, temporary: &Path) -> PathBuf {
    let output = extract(jar, &[&property("java.io.tmpdir", temporary)]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .expect("UTF-8")
        .trim_end()
        .into()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_others_have_planted_costs_one_folder_and_not_one_for_each_vm() {
    let jar = jar();
    let temporary = TempDir::new().expect("a folder");
    let first = extracted(&jar, temporary.path());
    let planted = first.parent().expect("a folder");
    fs::set_permissions(planted, fs::Permissions::from_mode(0o757)).expect("it is ours");
    let second = extracted(&jar, temporary.path());
    assert_ne!(second, first);
    let there = names(temporary.path());
    assert_eq!(extracted(&jar, temporary.path()), second);
    assert_eq!(names(temporary.path()), there);
    // A link is not followed, and the next one is found.
    fs::remove_dir_all(planted).expect("it is ours");
    symlink(temporary.path(), planted).expect("a link");
    assert_eq!(extracted(&jar, temporary.path()), second);
    assert_eq!(names(temporary.path()), there);
}

#[test]
fn a_named_folder_is_not_one_that_others_may_write_to() {
    let jar = jar();
    let folder = TempDir::new().expect("a folder");
    let named = folder.path().join("named");
    let extract = || extract(&jar, &[&property("hprof.folder", &named)]);
    let output = extract();
    assert!(output.status.success(), "{output:?}");
    assert!(named.join("libhprof.so").is_file());
    let refused = |mode: u32| {
        fs::set_permissions(&named, fs::Permissions::from_mode(mode)).expect("it is ours");
        let output = extract();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("that others may not write to"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    refused(0o757);
    if fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        return skip("a named folder of another user: only root can be somebody else");
    }
    std::os::unix::fs::chown(&named, Some(65_534), None).expect("root may");
    refused(0o755);
}
