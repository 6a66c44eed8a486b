//! The class-file rewriter, judged by the VM: its output must pass the verifier, and behave as documented.
//!
//! There is no agent in these VMs. Classes are rewritten beforehand, and stand-ins receive the calls.

mod counts;
mod every_class;
mod mutated;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hprof_instrument::{Hooks, LeafHooks, LeftOut, instrument};

use crate::harness::{Jvm, Program, javac};

/// The stand-in for the class whose entry returns what its exits take.
const COUNTER: &str = "java/lang/HprofCounter";

/// Returns the hooks of the stand-ins.
fn hooks(tracker: &str) -> Hooks<'_> {
    Hooks {
        tracker: tracker.as_bytes(),
        entry: b"methodEntry",
        exit: b"methodExit",
        exception_exit: b"exceptionExit",
        caught: (tracker == COUNTER).then_some(b"caught"),
        leaf: (tracker == COUNTER).then_some(LeafHooks {
            entry: b"leafEntry",
            exit: b"leafExit",
        }),
    }
}

/// Returns every class file in a tree.
fn class_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(class_files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The content of a rewritten tree.
#[derive(Default)]
struct Rewritten {
    /// The methods by their numbers: `Calls.fib(I)I`.
    methods: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// Rewrites all of `from` into `to`.
fn rewrite_tree(from: &Path, to: &Path, tracker: &str) -> Rewritten {
    let mut rewritten = Rewritten::default();
    for file in class_files(from) {
        let class = fs::read(&file).expect("a class file");
        let methods = &mut rewritten.methods;
        let outcome = instrument(&class, &hooks(tracker), &mut |class, method| {
            let [class, name, descriptor] =
                [class.name, method.name, method.descriptor].map(String::from_utf8_lossy);
            methods.push(format!("{class}.{name}{descriptor}"));
            u32::try_from(methods.len() - 1).ok()
        });
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        rewritten.left_out.extend(outcome.left_out);
        let target = to.join(file.strip_prefix(from).expect("a file of the tree"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::write(target, outcome.class.unwrap_or(class)).expect("a class file");
    }
    rewritten
}

/// Copies the classes of a jar, or those of the VM itself (`--jdk`), into `to`.
fn extract(jvm: &Jvm, what: &str, to: &Path) {
    Program::bare_java(jvm, &[])
        .program("instrument", "Extract")
        .arg(what)
        .arg(to)
        .run_well();
}

/// Compiles one of the sources that need special treatment.
fn compile(options: &[&str], source: &str, to: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("java-tests/instrument");
    let output = Command::new(javac())
        .args(["-nowarn", "-Xlint:-options"])
        .args(options)
        .arg("-d")
        .arg(to)
        .arg(source)
        .current_dir(sources)
        .output()
        .expect("javac");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{source}: {errors}");
}
