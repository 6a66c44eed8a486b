//! The verifier as the judge: each class of the JDKs and of real jars loads with the same outcome, whether rewritten or
//! not.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use hprof_instrument::{Reason, round_trip};
use tempfile::TempDir;

use super::{COUNTER, class_files, compile, extract, rewrite_tree};
use crate::harness::{Jvm, Program, fetched, jvms};

const TRACKER: &str = "java/lang/HprofTracker";

/// Returns one line for each class: its name and its outcome.
fn load_all(jvm: &Jvm, vm_options: &[String], arguments: &[OsString]) -> Vec<String> {
    let mut program = Program::bare_java(jvm, &["-Xverify:all", "--add-modules=ALL-SYSTEM"])
        .vm_options(vm_options)
        .program("instrument", "LoadAll");
    for argument in arguments {
        program = program.arg(argument);
    }
    let output = program.run_well().stdout;
    output.lines().map(str::to_owned).collect()
}

/// Fails if any line differs.
fn assert_same(untouched: &[String], rewritten: &[String], what: &str) {
    assert_eq!(untouched.len(), rewritten.len(), "classes of {what}");
    let different: Vec<_> = untouched
        .iter()
        .zip(rewritten)
        .filter(|(untouched, rewritten)| untouched != rewritten)
        .take(10)
        .collect();
    assert!(different.is_empty(), "{what}: {different:#?}");
    let fine = untouched
        .iter()
        .filter(|line| line.ends_with(" ok"))
        .count();
    assert!(
        fine > untouched.len() / 2,
        "{what}: only {fine} load at all"
    );
}

/// Asserts that every class is unchanged after being disassembled and reassembled.
fn assert_round_trip(folder: &Path) {
    for file in class_files(folder) {
        let class = fs::read(&file).expect("a class file");
        let copy = round_trip(&class).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(copy == class, "{} has changed", file.display());
    }
}

// Each takes minutes, and the real jars below are judged by the oldest verifier, too.
on_every_jvm!(every_class_of_the_jdks_loads_as_before: jdk_25 on_jvm 25, other_jvms on_others_from 11; left out jdk_11 on_jvm 11,
    jdk_17 on_jvm 17, jdk_21 on_jvm 21, jdk_26 on_jvm 26, jdk_27 on_jvm 27, jdk_28 on_jvm 28);

fn every_class_of_the_jdks_loads_as_before(jvm: &Jvm) {
    let tracker = TempDir::new().expect("a temporary folder");
    let options = [
        "-source",
        "11",
        "-target",
        "11",
        "--patch-module",
        "java.base=boot",
    ];
    for class in [TRACKER, COUNTER] {
        compile(&options, &format!("boot/{class}.java"), tracker.path());
    }
    let what = format!("JDK {}", jvm.feature);
    let folder = TempDir::new().expect("a temporary folder");
    let [old, new, counting] = ["old", "new", "counting"].map(|name| folder.path().join(name));
    extract(jvm, "--jdk", &old);
    assert_round_trip(&old);
    let rewritten = rewrite_tree(&old, &new, TRACKER);
    let left_out = rewrite_tree(&old, &counting, COUNTER).left_out;
    assert_eq!(left_out.len(), rewritten.left_out.len(), "{what}");
    assert!(rewritten.methods.len() > 50_000, "{what}");
    // All methods in a JDK fit, even with the calls; and some are left out for these reasons.
    for left_out in &rewritten.left_out {
        let known = [Reason::Native, Reason::Intrinsic, Reason::EmptyFinalizer];
        assert!(known.contains(&left_out.reason), "{what}: {left_out:?}");
    }
    let intrinsics = rewritten.left_out.iter();
    assert!(
        intrinsics
            .filter(|one| one.reason == Reason::Intrinsic)
            .count()
            > 100
    );

    let untouched = load_all(jvm, &[], &["--jdk".into()]);
    for classes in [new, counting] {
        let patches = patches(&classes, tracker.path());
        let loaded = load_all(jvm, &patches, &["--jdk".into()]);
        assert_same(&untouched, &loaded, &what);
    }
}

/// Returns the VM's options that replace each module's classes by the rewritten ones.
fn patches(modules: &Path, tracker: &Path) -> Vec<String> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(modules).expect("the modules") {
        let path = entry.expect("a module").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let path = path.display();
        let patch = match &*name {
            "java.base" => format!("--patch-module={name}={path}:{}", tracker.display()),
            _ => format!("--patch-module={name}={path}"),
        };
        patches.push(patch);
    }
    patches
}

#[test]
fn every_class_of_real_jars_loads_as_before() {
    let mut jars = Vec::from_iter(fetched("compiler.jar"));
    if let Some(folder) = fetched("classes") {
        let entries = fs::read_dir(folder).expect("a folder");
        jars.extend(entries.map(|entry| entry.expect("a jar").path()));
    }
    // The oldest verifier and the newest.
    let judges: Vec<&Jvm> = jvms().first().into_iter().chain(jvms().last()).collect();
    for jar in &jars {
        let folder = TempDir::new().expect("a temporary folder");
        let [old, new, counting] = ["old", "new", "counting"].map(|name| folder.path().join(name));
        extract(judges[0], &jar.to_string_lossy(), &old);
        assert_round_trip(&old);
        rewrite_tree(&old, &new, TRACKER);
        rewrite_tree(&old, &counting, COUNTER);
        for jvm in &judges {
            let what = format!("{} on JDK {}", jar.display(), jvm.feature);
            let load = |folder: &PathBuf| {
                let mut places = vec![folder.clone().into_os_string()];
                places.extend(jars.iter().map(|jar| jar.clone().into_os_string()));
                load_all(jvm, &[], &places)
            };
            let untouched = load(&old);
            assert_same(&untouched, &load(&new), &what);
            assert_same(&untouched, &load(&counting), &what);
        }
    }
}
