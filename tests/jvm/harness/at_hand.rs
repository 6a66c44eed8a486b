//! The available JVMs, programs and tools, and reports about missing ones.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

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

/// Returns all available JVMs.
pub fn jvms() -> &'static [Jvm] {
    static JVMS: OnceLock<Vec<Jvm>> = OnceLock::new();
    JVMS.get_or_init(|| {
        let list = setting("HPROF_JVMS", "jvm_list");
        let jvms: Vec<Jvm> = list
            .split(':')
            .filter_map(|entry| entry.split_once('='))
            .map(|(feature, home)| Jvm {
                feature: feature.parse().expect("a version"),
                home: home.into(),
            })
            .collect();
        assert!(!jvms.is_empty(), "there is no JVM to test on");
        jvms
    })
}

/// Returns a JDK whose `jcmd` and `jmap` work with any JVM.
pub fn any_jdk() -> &'static Jvm {
    let mut jvms = jvms().iter();
    jvms.find(|jvm| jvm.has_compiler())
        .expect("a JDK, which the tests take")
}

/// Returns one JVM, for tests that do not depend on the version.
pub fn any_jvm() -> &'static Jvm {
    &jvms()[0]
}

/// Returns the newest JDK, whose `java` can also run programs from their source.
pub fn compiler() -> PathBuf {
    setting("HPROF_JAVAC_HOME", "newest_compiler").into()
}

/// Returns a setting of `scripts/test`, or computes it with the functions of its library.
fn setting(variable: &str, function: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        let script = format!("source scripts/lib/common.sh && {function}");
        let found = Command::new("bash")
            .args(["-c", &script])
            .output()
            .expect("bash");
        String::from_utf8(found.stdout)
            .expect("UTF-8")
            .trim()
            .to_owned()
    })
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
        "{} is missing: run scripts/test, or cargo build --workspace first",
        path.display()
    );
    path
}

/// Reports that something is not tested, directly to stderr, because libtest captures what a test prints.
/// `scripts/test` repeats it at its end.
pub fn skip(what: &str) {
    let _ = writeln!(io::stderr(), "skipped: {what}");
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

/// Returns a file of the fetched programs; reports if it is missing.
pub fn fetched(name: &str) -> Option<PathBuf> {
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

/// Returns the compiler of the newest JDK.
pub fn javac() -> PathBuf {
    compiler().join("bin/javac")
}
