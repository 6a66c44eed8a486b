//! `compress=y`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Finished, Jvm, Program, any_jvm, cli};
use crate::profile::Profile;

/// Returns the output of gzip for a file, if it succeeds.
fn gzip(argument: &str, path: &Path) -> Option<Vec<u8>> {
    let output = Command::new("gzip")
        .arg(argument)
        .arg(path)
        .output()
        .expect("gzip");
    output.status.success().then_some(output.stdout)
}

fn decompressed(run: &Finished, name: &str) -> Vec<u8> {
    gzip("-dc", &run.path(name)).expect("a gzip file")
}

fn kinds(run: &Finished, name: &str) -> Vec<String> {
    let (sound, counts, fault) = run.hprof("check", name);
    assert!(sound, "{fault}");
    let kind = |line: &str| {
        line.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            .to_owned()
    };
    counts.lines().map(kind).collect()
}

on_every_jvm!(a_compressed_file_holds_what_the_plain_one_does, and 26);

fn a_compressed_file_holds_what_the_plain_one_does(jvm: &Jvm) {
    let options = "heap=sites,cpu=samples,format=b,file=";
    let plain = Program::new(jvm, &format!("{options}x.hprof"), "Exits")
        .arg("return")
        .run_well();
    for more in ["x.hprof.gz", "x.hprof,compress=y"] {
        let run = Program::new(jvm, &format!("{options}{more}"), "Exits")
            .arg("return")
            .run_well();
        let name = more.split(',').next().expect("a name");
        assert_eq!(kinds(&run, name), kinds(&plain, "x.hprof"));
        let text = run.checked_text(name);
        let bytes = decompressed(&run, name);
        assert!(fs::metadata(run.path(name)).expect("a file").len() < bytes.len() as u64 / 2);
        fs::write(run.path("plain"), bytes).expect("a file");
        assert!(run.checked_text("plain") == text);
    }
}

on_every_jvm!(text_is_compressed_too_and_has_its_own_name, and 17);

fn text_is_compressed_too_and_has_its_own_name(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,compress=y", "Exits")
        .arg("exit")
        .run();
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(run.files(), ["java.hprof.txt.gz"]);
    let text = String::from_utf8(decompressed(&run, "java.hprof.txt.gz")).expect("UTF-8");
    assert_eq!(Profile::parse(&text).dumps.len(), 1);
}

#[test]
fn text_is_not_compressed_where_that_is_not_wanted() {
    let run = Program::new(any_jvm(), "cpu=samples,compress=n,file=x.gz", "Exits")
        .arg("exit")
        .run();
    assert!(
        run.read("x.gz").starts_with("JAVA PROFILE"),
        "it was not wanted"
    );
}

on_every_jvm!(a_killed_program_leaves_what_was_flushed, and 28);

fn a_killed_program_leaves_what_was_flushed(jvm: &Jvm) {
    let run = Program::new(jvm, "cpu=samples,format=b,file=x.hprof.gz", "Exits")
        .arg("wait")
        .start();
    run.wait_for_output("ready");
    let path = run.path("x.hprof.gz");
    run.send("QUIT");
    let text = || {
        let text = Command::new(cli()).arg("text").arg(&path).output();
        String::from_utf8_lossy(&text.expect("hprof").stdout).into_owned()
    };
    run.wait_until(|| text().contains("CPU SAMPLES END"));
    run.send("KILL");
    let run = run.wait();
    assert_eq!(
        gzip("-t", &path),
        None,
        "it can be told that the end is missing"
    );
    let (sound, text, fault) = run.hprof("text", "x.hprof.gz");
    assert!(!sound && text.contains("CPU SAMPLES END"), "{fault}");
    let (sound, _, fault) = run.hprof("check", "x.hprof.gz");
    assert!(!sound);
    assert!(
        fault.contains("the compressed data ends before its end"),
        "{fault}"
    );
}

#[test]
fn a_compressed_file_is_verified_too() {
    let run = Program::new(
        any_jvm(),
        "cpu=samples,format=b,compress=y,logflags=4",
        "Exits",
    )
    .arg("exit")
    .run();
    let report = run.read("java.hprof.check.txt");
    assert!(
        report.starts_with("java.hprof.gz:\n") && report.contains("CPU SAMPLES"),
        "{report}"
    );
}

#[test]
fn a_full_disk_leaves_a_readable_part() {
    // A limit of 48 KB for the file; 64 KB of records take less than that, but not all together.
    let options = "cpu=samples,format=b,depth=40,interval=1,file=x.hprof.gz";
    let run = Program::new(any_jvm(), options, "ShortThreads")
        .after("ulimit -f 48")
        .run_well();
    assert!(
        run.stderr.contains("x.hprof.gz: File too large"),
        "{}",
        run.stderr
    );
    let (_, text, _) = run.hprof("text", "x.hprof.gz");
    assert!(text.contains("THREAD START"));
}
