//! The jar, in a JVM and as a command, and the jar for tests alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{assert_exact, package, run};
use crate::harness::{Jvm, Program, javac};
use crate::heap::sites;
use crate::profile::Profile;
use tempfile::TempDir;

fn java(jvm: &Jvm) -> Command {
    Command::new(jvm.home.join("bin/java"))
}

on_every_jvm!(a_jar_as_java_agent_counts_from_premain_on, and 28);

fn a_jar_as_java_agent_counts_from_premain_on(jvm: &Jvm) {
    let Some(jar) = package("hprof-", ".jar") else {
        return;
    };
    let folder = TempDir::new().expect("a folder");
    assert_exact(jvm, folder.path(), &format!("-javaagent:{}", jar.display()));
}

on_every_jvm!(wrong_options_end_the_vm_in_one_line, and 25);

fn wrong_options_end_the_vm_in_one_line(jvm: &Jvm) {
    let Some(jar) = package("hprof-", ".jar") else {
        return;
    };
    let mut option = std::ffi::OsString::from("-javaagent:");
    option.push(&jar);
    option.push("=cpu=fast");
    let run = Program::bare_java(jvm, &[])
        .arg(option)
        .program("samples", "Hello")
        .run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    let said: Vec<_> = run
        .stderr
        .lines()
        .filter(|line| !line.starts_with("WARNING: ") && !line.is_empty())
        .collect();
    assert_eq!(
        said,
        ["hprof: option cpu=fast: must be samples|times|old|y"]
    );
    assert_eq!(run.stdout, "", "the program has not begun");
    assert!(run.files().is_empty());
}

on_every_jvm!(what_came_before_premain_is_told_of, and 26);

fn what_came_before_premain_is_told_of(jvm: &Jvm) {
    let Some(jar) = package("hprof-", ".jar") else {
        return;
    };
    let mut option = std::ffi::OsString::from("-javaagent:");
    option.push(&jar);
    option.push("=heap=sites,file=x.txt");
    let run = Program::bare_java(jvm, &[])
        .arg(option)
        .program("samples", "Hello")
        .run_well();
    assert!(
        run.stderr.contains("hprof: the profile begins "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("-agentpath has both"), "{}", run.stderr);
}

on_every_jvm!(the_jar_attaches_and_stops, and 17);

fn the_jar_attaches_and_stops(jvm: &Jvm) {
    let Some(jar) = package("hprof-", ".jar") else {
        return;
    };
    let program = Program::bare_java(jvm, &[])
        .program("attach", "Steps")
        .arg("make:300")
        .start();
    program.wait_for_output("ready");
    let hprof = |arguments: &[&str]| {
        let mut java = java(jvm);
        java.arg("-jar")
            .arg(&jar)
            .arg(arguments[0])
            .arg(program.id().to_string());
        run(java.args(&arguments[1..]))
    };
    let said = hprof(&["attach", "heap=sites,cutoff=0,depth=3,verbose=n,file=x.txt"]);
    assert!(said.starts_with("profiling into "), "{said}");
    fs::write(program.path("go1"), "").expect("a file");
    program.wait_for_output("done 1\n");
    let said = hprof(&["stop"]);
    assert!(said.starts_with("stopped; "), "{said}");
    let text = fs::read_to_string(program.path("x.txt")).expect("the profile");
    let profile = Profile::parse(&text);
    let made = sites::count(&profile, profile.one_sites(), "Steps$Thing", "Steps.make");
    assert_eq!(made.allocated, 300);
    fs::write(program.path("end"), "").expect("a file");
    assert!(program.wait().status.success());
}

on_every_jvm!(the_jar_extracts_once_and_to_nobody_elses_folder, and 28);

fn the_jar_extracts_once_and_to_nobody_elses_folder(jvm: &Jvm) {
    let Some(jar) = package("hprof-", ".jar") else {
        return;
    };
    let folder = TempDir::new().expect("a folder");
    let path = || {
        let temporary = format!("-Djava.io.tmpdir={}", folder.path().display());
        run(java(jvm)
            .arg(temporary)
            .arg("-jar")
            .arg(&jar)
            .arg("agent-path"))
    };
    let first = path();
    assert_eq!(path(), first, "the same files, the same place");
    let home = Path::new(&first).parent().expect("a folder");
    assert_eq!(
        fs::read_dir(folder.path()).expect("the folder").count(),
        1,
        "nothing is left behind"
    );
    // Other users could write to it now, so nothing in it can be trusted.
    run(Command::new("chmod").arg("o+w").arg(home));
    let second = path();
    assert_ne!(second, first);
    assert!(Path::new(&second).is_file());
}

on_every_jvm!(the_jar_for_tests_counts_and_has_no_command, and 25);

fn the_jar_for_tests_counts_and_has_no_command(jvm: &Jvm) {
    let Some(jar) = package("hprof-junit-", ".jar") else {
        return;
    };
    let folder = TempDir::new().expect("a folder");
    run(Command::new(javac())
        .args(["-nowarn", "-Xlint:-options", "--release", "11", "-cp"])
        .arg(&jar)
        .arg("-d")
        .arg(folder.path())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("java-tests/counts/api/Counted.java")));
    let counted = Program::bare_java(jvm, &["-Dhprof.folder=library"])
        .arg("-cp")
        .arg(format!("{}:{}", jar.display(), folder.path().display()))
        .arg("Counted")
        .run_well();
    assert_eq!(counted.stdout, "right\n", "{}", counted.stderr);
    let listed = run(Command::new(javac().with_file_name("jar"))
        .arg("-tf")
        .arg(&jar));
    assert!(
        listed.contains("io/hprof/junit/Allocates.class"),
        "{listed}"
    );
    assert!(listed.contains("/libhprof.so"), "{listed}");
    let command = |line: &str| line.ends_with("/hprof") || line.contains("/jmh/");
    assert!(!listed.lines().any(command), "{listed}");
}
