//! The number of times each method is entered and left, according to the programs in `java-tests/instrument`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{compile, rewrite_tree};
use crate::harness::{self, Jvm, Program};

/// Entered, returned, left by an exception.
type Counts = [u64; 3];

/// Runs `program`, a class of the rewritten folder; returns the counts of its methods, and the state of the stack at
/// the end.
fn count(jvm: &Jvm, classes: &Path, program: &str) -> (HashMap<String, Counts>, String) {
    let rewritten = TempDir::new().expect("a temporary folder");
    let methods = rewrite_tree(classes, rewritten.path(), "Tracker").methods;
    let path = format!(
        "{}:{}",
        rewritten.path().display(),
        harness::classes("instrument").display()
    );
    let finished = Program::bare_java(jvm, &["-Xverify:all", "-Xss8m", "-cp", &path, "Tracker"])
        .arg(program)
        .arg(methods.len().to_string())
        .run_well();
    let mut lines: Vec<&str> = finished.stdout.lines().collect();
    let stack = lines.pop().expect("the last line").to_owned();
    let counts = methods.into_iter().zip(lines).map(|(method, line)| {
        let numbers: Vec<u64> = line
            .split(' ')
            .skip(1)
            .map(|number| number.parse().expect("a number"))
            .collect();
        (method, numbers.try_into().expect("three numbers"))
    });
    (counts.collect(), stack)
}

/// Returns the classes of one program, in a folder of their own. The tracker must stay unchanged.
fn only(program: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    for entry in fs::read_dir(harness::classes("instrument")).expect("the classes") {
        let path = entry.expect("a class").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name.starts_with(program) {
            fs::copy(&path, folder.path().join(name)).expect("a copy");
        }
    }
    folder
}

fn assert_counts(jvm: &Jvm, counts: &HashMap<String, Counts>, expected: &[(&str, Counts)]) {
    for (method, expected) in expected {
        let found = counts.get(*method).unwrap_or_else(|| panic!("no {method}"));
        assert_eq!(found, expected, "{method} on JDK {}", jvm.feature);
    }
}

on_every_jvm!(every_shape_of_method_is_counted_exactly, and 17);

fn every_shape_of_method_is_counted_exactly(jvm: &Jvm) {
    let classes = only("Shapes");
    let (counts, stack) = count(jvm, classes.path(), "Shapes");
    assert_counts(
        jvm,
        &counts,
        &[
            ("Shapes.first()V", [10, 0, 10]),
            ("Shapes.second()V", [10, 0, 10]),
            ("Shapes.third()V", [10, 0, 10]),
            ("Shapes.caught(I)I", [10, 10, 0]),
            ("Shapes.last(I)I", [10, 5, 5]),
            ("Shapes.deep(I)V", [10_001, 10_001, 0]),
            ("Shapes.loop(I)V", [4, 4, 0]),
            ("Shapes.locked()V", [50, 50, 0]),
            ("Shapes.lockedBlock(Ljava/lang/Object;)I", [50, 50, 0]),
            ("Shapes.lockedThrows()V", [5, 0, 5]),
            ("Shapes.table(I)I", [10, 10, 0]),
            ("Shapes.sparse(I)I", [10, 10, 0]),
            ("Shapes.number(JD)J", [3, 3, 0]),
            ("Shapes.fraction(JD)D", [3, 3, 0]),
            ("Shapes.fib(I)I", [1973, 1973, 0]),
            ("Shapes$Base.<init>(I)V", [13, 9, 4]),
            ("Shapes$Child.<init>(I)V", [9, 3, 2]),
            ("Shapes$Child.check(I)I", [9, 7, 2]),
            ("Shapes$Late.<init>(Z)V", [6, 3, 3]),
            ("Shapes$Late.pick(I)I", [6, 6, 0]),
            ("Shapes$Twin.<init>(Ljava/lang/String;)V", [6, 2, 1]),
            ("Shapes$Twin.<init>(I)V", [5, 2, 3]),
            ("Shapes$Init.<clinit>()V", [1, 1, 0]),
            ("Shapes$Init.compute()I", [1, 1, 0]),
            ("Shapes$BadInit.<clinit>()V", [1, 0, 1]),
            ("Shapes$BadInit.fail()I", [1, 0, 1]),
            ("Shapes.lambda$run$0()V", [7, 7, 0]),
            ("Shapes$Greeter.greet()I", [8, 8, 0]),
            ("Shapes$Greeter.help()I", [8, 8, 0]),
            ("Shapes.run()V", [1, 1, 0]),
        ],
    );
    let [entered, returned, unwound] = counts["Shapes.endless(I)V"];
    assert_eq!(returned, 0);
    assert!(entered > 1000, "{entered}");
    // At the end of the stack there is no room for some of the calls.
    assert!(
        unwound <= entered && unwound > entered - 500,
        "{entered} {unwound}"
    );
    assert!(stack.starts_with("strays 0 "), "{stack}");
    assert!(stack.ends_with(" running 0"), "{stack}");
}

on_every_jvm!(code_before_super_is_counted_exactly from 25);

fn code_before_super_is_counted_exactly(jvm: &Jvm) {
    let classes = TempDir::new().expect("a temporary folder");
    compile(
        &["--release", "25"],
        "flexible/Flexible.java",
        classes.path(),
    );
    let (counts, stack) = count(jvm, classes.path(), "Flexible");
    assert_counts(
        jvm,
        &counts,
        &[
            ("Flexible$Child.<init>(I)V", [10, 6, 2]),
            ("Flexible$Base.<init>(I)V", [8, 6, 2]),
        ],
    );
    assert_eq!(stack, "strays 0 healed 2 running 0");
}
