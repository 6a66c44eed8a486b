//! The packages for Python, Debian and Red Hat, each installed alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{assert_exact, has, package, run};
use crate::command::book;
use crate::harness::any_jvm;

/// Installs the wheel into a fresh environment below the folder, and returns its folder of commands; reports if there is no
/// wheel.
fn install_wheel(folder: &Path) -> Option<PathBuf> {
    let wheel = package("hprof_agent-", "manylinux2014_x86_64.whl")?;
    let environment = folder.join("venv");
    run(Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment));
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-index",
    ]);
    run(pip.arg(wheel));
    Some(environment.join("bin"))
}

#[test]
fn the_wheel_profiles_from_a_fresh_environment() {
    let folder = TempDir::new().expect("a folder");
    let Some(commands) = install_wheel(folder.path()) else {
        return;
    };
    let hprof = commands.join("hprof");
    let library = run(Command::new(&hprof).arg("agent-path"));
    assert_eq!(
        Path::new(&library),
        folder.path().join("venv/lib/libhprof.so")
    );
    assert_exact(any_jvm(), folder.path(), &format!("-agentpath:{library}"));
    let top = run(Command::new(&hprof)
        .arg("top")
        .arg(folder.path().join("alloc.txt")));
    assert!(top.contains("Alloc.dropObjects"), "{top}");
}

#[test]
fn the_first_five_minutes_need_no_more_than_the_wheel() {
    let folder = TempDir::new().expect("a folder");
    if let Some(commands) = install_wheel(folder.path()) {
        book::check_with("docs/five-minutes.md", &commands);
    }
}

#[test]
fn the_debian_package_profiles_from_a_root_of_its_own() {
    let Some(package) = package("hprof_", "_amd64.deb") else {
        return;
    };
    if !has("dpkg") {
        return;
    }
    let root = TempDir::new().expect("a root");
    let database = root.path().join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(database.join(folder)).expect("a folder");
    }
    fs::write(database.join("status"), "").expect("a file");
    let mut dpkg = Command::new("dpkg");
    // There is no libc6 in that root: the program that runs brings the machine's.
    dpkg.args([
        "--force-depends",
        "--force-not-root",
        "--force-script-chrootless",
        "--log=/dev/null",
    ]);
    run(dpkg
        .arg(format!("--root={}", root.path().display()))
        .arg("-i")
        .arg(package));
    assert_installed(root);
}

#[test]
fn the_red_hat_package_profiles_from_a_root_of_its_own() {
    let Some(package) = package("hprof-", ".x86_64.rpm") else {
        return;
    };
    if !has("rpm") {
        return;
    }
    let root = TempDir::new().expect("a root");
    let mut rpm = Command::new("rpm");
    rpm.arg("--root").arg(root.path()).args(["--nodeps", "-i"]);
    run(rpm.arg(package));
    assert_installed(root);
}

fn assert_installed(root: TempDir) {
    let installed = |path: &str| -> PathBuf { root.path().join(path) };
    let library = run(Command::new(installed("usr/bin/hprof")).arg("agent-path"));
    assert_eq!(Path::new(&library), installed("usr/lib/libhprof.so"));
    for file in [
        "share/man/man1/hprof.1.gz",
        "share/doc/hprof/THIRD-PARTY.txt",
        "share/doc/hprof/book/five-minutes.md",
        "share/doc/hprof/book/reference/options.md",
    ] {
        assert!(installed("usr").join(file).is_file(), "{file}");
    }
    let mut others = fs::read_dir(installed("usr/share/hprof")).expect("a folder");
    let wheel = others.next().expect("a file").expect("a file").file_name();
    let wheel = wheel.to_str().expect("UTF-8");
    assert!(wheel.starts_with("hprof_fleet-"), "{wheel}");
    assert_exact(any_jvm(), root.path(), &format!("-agentpath:{library}"));
}

#[test]
fn the_wheel_of_hprof_fleet_has_its_command() {
    let Some(wheel) = package("hprof_fleet-", "py3-none-any.whl") else {
        return;
    };
    let folder = TempDir::new().expect("a folder");
    let environment = folder.path().join("venv");
    run(Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment));
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]);
    // What it needs is tested in fleet/; here nothing is fetched.
    run(pip.args(["--no-index", "--no-deps"]).arg(wheel));
    let script = fs::read_to_string(environment.join("bin/hprof-fleet")).expect("the command");
    assert!(script.contains("hprof_fleet.cli"), "{script}");
}
