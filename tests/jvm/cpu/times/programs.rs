//! Programs with special features: huge methods, and programs that were not written for this test.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{calls, one};
use crate::harness::{Jvm, Program, fetched};
use crate::profile::Profile;

/// Runs a program with a method of over 60 KB that has that many exits in addition to its end.
fn large(jvm: &Jvm, exits: usize) -> Profile {
    let folder = tempfile::TempDir::new().expect("a folder");
    let mut body = String::new();
    for number in 0..exits {
        writeln!(body, "if (n == {}) return;", 1_000 + number).expect("a string takes it");
    }
    for number in 0..5_700 {
        writeln!(body, "sink += {};", 40_000 + number).expect("a string takes it");
    }
    let source = format!(
        "public class Large {{ static int sink;
            static void large(int n) {{ if (n > 3) return; {body} }}
            public static void main(String[] a) {{
                for (int i = 0; i < 10; i++) large(i);
                System.out.println(sink);
            }} }}"
    );
    fs::write(folder.path().join("Large.java"), source).expect("the source");
    let status = Command::new(jvm.home.join("bin/javac"))
        .current_dir(folder.path())
        .arg("Large.java")
        .status();
    assert!(status.expect("javac").success());
    let run = |program: Program| {
        program
            .arg("-cp")
            .arg(folder.path())
            .arg("Large")
            .run_well()
    };
    let options = "cpu=times,cutoff=0,include=Large,file=x.txt";
    let (bare, timed) = (
        run(Program::bare_java(jvm, &[])),
        run(Program::java(jvm, options, &[])),
    );
    assert_eq!(bare.stdout, timed.stdout);
    Profile::parse(&timed.read("x.txt"))
}

on_every_jdk!(large_methods_are_timed_while_there_is_room, and 25);

fn large_methods_are_timed_while_there_is_room(jvm: &Jvm) {
    let profile = large(jvm, 0);
    assert_eq!(calls(one(&profile), "Large.large"), 10, "{}", jvm.feature);
    // The hooks of that many exits do not fit into 64 KB.
    let profile = large(jvm, 800);
    let times = one(&profile);
    assert_eq!(calls(times, "Large.large"), 0, "{}", jvm.feature);
    assert_eq!(calls(times, "Large.main"), 1);
    let named = |note: &String| note.contains("too large: Large.large(I)V");
    assert!(times.not_timed.iter().any(named), "{:?}", times.not_timed);
}

fn closure(program: Program, compiler: &Path, lodash: &Path) -> (String, crate::harness::Finished) {
    let program = program.arg("-jar").arg(compiler);
    let run = program
        .args(["--js_output_file", "out.js", "--js"])
        .arg(lodash)
        .run_well();
    (run.read("out.js"), run)
}

on_every_jdk!(the_closure_compiler_does_what_it_does, and 17);

fn the_closure_compiler_does_what_it_does(jvm: &Jvm) {
    let (Some(compiler), Some(lodash)) = (fetched("compiler.jar"), fetched("lodash.js")) else {
        return;
    };
    let bare = Program::bare_java(jvm, &[]);
    let (right, _) = closure(bare, &compiler, &lodash);
    let verified = Program::java(jvm, "cpu=times,file=x.txt", &["-Xverify:all"]);
    let (timed, run) = closure(verified, &compiler, &lodash);
    assert_eq!(timed, right, "{}", jvm.feature);
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(one(&profile).total > 500, "{}", jvm.feature);
}

on_every_jdk!(javac_compiles_what_it_compiles, and 25);

fn javac_compiles_what_it_compiles(jvm: &Jvm) {
    let Some(corpus) = fetched("corpus.files") else {
        return;
    };
    let program = Program::javac(jvm, "cpu=times,file=x.txt").args([
        "-nowarn",
        "-proc:none",
        "-Xlint:none",
        "-encoding",
        "UTF-8",
        "-d",
        "classes",
    ]);
    let run = program.arg(format!("@{}", corpus.display())).run_well();
    let profile = Profile::parse(&run.read("x.txt"));
    assert!(one(&profile).rows.len() > 1_000, "{}", jvm.feature);
}
