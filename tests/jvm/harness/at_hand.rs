//! The available JVMs, programs and tools, and reports about missing ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use hprof_testing::skip;

/// A JVM to test on.
pub struct Jvm {
    /// Its version: 11, 17, 21, ...
    pub feature: u32,
    pub home: PathBuf,
}

impl Jvm {
    pub fn has_compiler(&self) -> bool {
        self.home.join("bin/javac").exists()
    }
}

/// All JVMs to test on: those of `$HPROF_JVMS`, which `scripts/test` sets, or else the one at hand.
pub fn jvms() -> &'static [Jvm] {
    static JVMS: OnceLock<Vec<Jvm>> = OnceLock::new();
    JVMS.get_or_init(|| match std::env::var("HPROF_JVMS") {
        Ok(list) => {
            let jvms = listed(&list);
            assert!(!jvms.is_empty(), "there is no JVM to test on");
            jvms
        }
        Err(_) => match jvm_at_hand() {
            Some(jvm) => {
                let home = jvm.home.display();
                skip(&format!("JVMs other than {} ({home})", jvm.feature));
                vec![jvm]
            }
            None => {
                leave_out_all("neither $JAVA_HOME nor the path has a Java of version 11 or newer")
            }
        },
    })
}

/// The JVM in `$JAVA_HOME`, or that whose `java` is on the path.
fn jvm_at_hand() -> Option<Jvm> {
    let java_home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter_map(|folder| {
        let java = folder.join("java").canonicalize().ok()?;
        Some(java.parent()?.parent()?.to_owned())
    });
    let mut found = java_home.into_iter().chain(on_path).filter_map(|home| {
        let feature = feature(&home)?;
        (feature >= 11).then_some(Jvm { feature, home })
    });
    found.next()
}

/// The version that a JVM's `release` file gives; `None` where there is no such file.
fn feature(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let mut lines = release.lines();
    let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Ends the run, with success: what all tests here need is missing.
fn leave_out_all(reason: &str) -> ! {
    skip(&format!("every test on a JVM: {reason}"));
    std::process::exit(0);
}

/// One whose `jcmd` and `jmap` can ask any JVM.
pub fn any_jdk() -> &'static Jvm {
    static ANOTHER: OnceLock<Jvm> = OnceLock::new();
    let mut jvms = jvms().iter();
    jvms.find(|jvm| jvm.has_compiler()).unwrap_or_else(|| {
        ANOTHER.get_or_init(|| {
            let home = compiler();
            let feature = feature(&home).expect("every JDK has a `release` file");
            Jvm { feature, home }
        })
    })
}

/// Returns one JVM, for tests that do not depend on the version.
pub fn any_jvm() -> &'static Jvm {
    &jvms()[0]
}

/// Returns the old updates of `$HPROF_OLD_JVMS`, which `scripts/test` sets.
pub fn old_jvms() -> Vec<Jvm> {
    let jvms = std::env::var("HPROF_OLD_JVMS").map_or_else(|_| Vec::new(), |list| listed(&list));
    if jvms.is_empty() {
        skip("tests on old updates of Java: $HPROF_OLD_JVMS names none");
    }
    jvms
}

/// Reads `<feature>=<home>:...`.
fn listed(list: &str) -> Vec<Jvm> {
    list.split(':')
        .filter_map(|entry| entry.split_once('='))
        .map(|(feature, home)| Jvm {
            feature: feature.parse().expect("a version"),
            home: home.into(),
        })
        .collect()
}

/// Returns the newest JDK, whose `java` can also run programs from their source.
pub fn compiler() -> PathBuf {
    static COMPILER: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let home = std::env::var_os("HPROF_JAVAC_HOME").map_or_else(newest_jdk, PathBuf::from);
        if home.as_os_str().is_empty() {
            leave_out_all("no JDK was found, whose javac compiles the test programs");
        }
        home
    };
    COMPILER.get_or_init(find).clone()
}

/// The newest JDK that the library of `scripts/test` finds on this machine; empty where there is none.
fn newest_jdk() -> PathBuf {
    let mut bash = Command::new("bash");
    bash.args(["-c", "source scripts/lib/common.sh && newest_compiler"]);
    let found = bash.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let home = String::from_utf8(found.expect("bash").stdout).expect("UTF-8");
    home.trim().into()
}

/// Returns the library under test. Cargo puts it next to the test, and nowhere else.
pub fn agent() -> PathBuf {
    built("HPROF_AGENT", "deps/libhprof.so")
}

/// Returns the path of `hprof`, the command.
pub fn cli() -> PathBuf {
    built("HPROF_CLI", "hprof")
}

fn built(variable: &str, name: &str) -> PathBuf {
    let path = std::env::var_os(variable)
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let test = std::env::current_exe().expect("the test's own path");
            let profile = test
                .ancestors()
                .nth(2)
                .expect("target/<profile>/deps/<test>");
            profile.join(name)
        });
    assert!(
        path.exists(),
        "{} is missing: run `cargo build` first",
        path.display()
    );
    path
}

/// Returns a reader that `scripts/test` installs; reports if it is missing.
pub fn reader(variable: &str) -> Option<PathBuf> {
    let reader = std::env::var_os(variable).map(PathBuf::from);
    if reader.is_none() {
        skip(&format!(
            "tests of the reader in ${variable}: it is not set"
        ));
    }
    reader
}

/// Returns `true` if the library is a release build; a debug build takes many times as long.
pub fn is_release_build() -> bool {
    agent().to_string_lossy().contains("release")
}

/// Returns a file of the fetched programs; reports if it is missing, or would take a debug build too long.
pub fn fetched(name: &str) -> Option<PathBuf> {
    if !is_release_build() {
        skip("tests with real programs: they take a release build of the agent");
        return None;
    }
    let path = programs().join(name);
    if !path.exists() {
        skip(&format!(
            "tests with {name}: it is not in {}",
            programs().display()
        ));
        return None;
    }
    Some(path)
}

/// Returns the folder with the real programs.
fn programs() -> PathBuf {
    std::env::var_os("HPROF_PROGRAMS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/programs"),
        PathBuf::from,
    )
}

/// Compiles a C source of the repository to a library; reports if there is no compiler.
pub fn c_library(source: &str) -> Option<PathBuf> {
    static COMPILED: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().expect("nothing panics inside");
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        let name = source.with_extension("so");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.file_name()?);
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(["-O2", "-shared", "-fPIC", "-o"]);
        let status = compiler.arg(&library).arg(&source).arg("-ldl").status();
        if !status.is_ok_and(|status| status.success()) {
            skip(&format!(
                "tests with {}: no C compiler takes it",
                source.display()
            ));
            return None;
        }
        Some(library)
    };
    compiled
        .entry(source.to_owned())
        .or_insert_with(compile)
        .clone()
}

/// Returns a library in Go, compiled; reports if there is no Go.
pub fn go_library(source: &str) -> Option<PathBuf> {
    static COMPILED: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().expect("nothing panics inside");
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        let name = source.with_extension("so");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.file_name()?);
        let compiled = ["go", "/usr/local/go/bin/go"].iter().any(|go| {
            let mut go = Command::new(go);
            let go = go.args(["build", "-buildmode=c-shared", "-o"]);
            let status = go.arg(&library).arg(&source).status();
            status.is_ok_and(|status| status.success())
        });
        if !compiled {
            skip(&format!(
                "tests with {}: no Go compiles it",
                source.display()
            ));
            return None;
        }
        Some(library)
    };
    compiled
        .entry(source.to_owned())
        .or_insert_with(compile)
        .clone()
}

/// Returns the compiler of the newest JDK.
pub fn javac() -> PathBuf {
    compiler().join("bin/javac")
}

/// Returns `true` if the test programs for a version of Java can be compiled.
pub fn compiles(release: u32) -> bool {
    feature(&compiler()).is_none_or(|feature| feature >= release)
}

/// Returns `true` if this user may mount a file system in a namespace of its own, by `unshare --user --map-root-user --mount`.
pub fn may_mount() -> bool {
    let mount = [
        "--user",
        "--map-root-user",
        "--mount",
        "mount",
        "-t",
        "tmpfs",
        "none",
        "/mnt",
    ];
    let output = Command::new("unshare").args(mount).output();
    output.is_ok_and(|output| output.status.success())
}
