//! Failures cost the profile, never the program.

use std::fs;

use crate::harness::{Jvm, Program, any_jvm};

on_every_jvm!(a_full_disk_ends_the_profile_and_not_the_program, and 17);

fn a_full_disk_ends_the_profile_and_not_the_program(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,file=/dev/full", "Exits")
        .arg("exit")
        .run();
    assert_eq!(
        run.status.code(),
        Some(3),
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    let lines: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("hprof: "))
        .collect();
    let message = "hprof: /dev/full: No space left on device (os error 28); the profile ends here, the program continues";
    assert_eq!(lines, [message], "{}", jvm.feature);
    let end = run.stderr.contains(" failed.\n") && !run.stderr.contains(" done.");
    assert!(end, "{}: {}", jvm.feature, run.stderr);
}

#[test]
fn what_was_written_before_the_disk_was_full_stays_readable() {
    // A limit of 150 KB for the file, and a program with more output, in pieces of at most a bit more than 64 KB.
    let run = Program::new(
        any_jvm(),
        "cpu=samples,format=b,depth=40,interval=1,file=x.hprof",
        "ShortThreads",
    )
    .after("ulimit -f 150")
    .run_well();
    assert!(run.stdout.contains("threads 2000"));
    assert!(
        run.stderr.contains("x.hprof: File too large"),
        "{}",
        run.stderr
    );
    let length = fs::metadata(run.path("x.hprof")).expect("the file").len();
    assert!((80_000..=153_600).contains(&length), "{length}");
    assert!(run.checked_text("x.hprof").contains("THREAD START"));
}

#[test]
fn a_reader_that_leaves_ends_the_profile_and_not_the_program() {
    let program = Program::new(
        any_jvm(),
        "cpu=samples,interval=1,file=pipe",
        "ShortThreads",
    )
    .after("mkfifo pipe; head -c 100 pipe >/dev/null &");
    let run = program.run_well();
    assert!(run.stdout.contains("threads 2000"));
    assert!(run.stderr.contains("pipe: Broken pipe"), "{}", run.stderr);
}

#[test]
fn a_program_without_stderr_is_no_matter() {
    let run = Program::new(any_jvm(), "cpu=samples,file=/dev/full", "Exits")
        .arg("exit")
        .after("exec 2>&-")
        .run();
    assert_eq!(run.status.code(), Some(3));
}

#[test]
fn the_folder_may_go_while_the_program_runs() {
    let program = Program::new(any_jvm(), "cpu=samples,file=gone/x.txt", "Exits").arg("wait");
    fs::create_dir(program.folder().join("gone")).expect("a folder");
    let run = program.start();
    run.wait_for_output("ready");
    fs::remove_dir_all(run.path("gone")).expect("it goes");
    run.send("TERM");
    assert_eq!(run.wait().status.code(), Some(143));
}
