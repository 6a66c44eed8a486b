//! A disk that has no room for a heap dump.

use std::fs;

use crate::harness::{Finished, Program, any_jvm, may_mount, skip};
use crate::profile::Profile;

/// Runs `FullDisk`, whose dump takes 40 MB, with its files on a disk of that size; `None` where that cannot be made.
fn on_a_disk_of(megabytes: u32, options: &str) -> Option<Finished> {
    run_on_a_disk_of(megabytes, &format!("{options},file=small/x.hprof"), "")
}

/// As [`on_a_disk_of`], with a redirection of the shell.
fn run_on_a_disk_of(megabytes: u32, options: &str, redirection: &str) -> Option<Finished> {
    if !may_mount() {
        skip("heap dumps on a full disk: this user may not mount a file system of its own");
        return None;
    }
    let vm_options = ["-Xmx128m", "-XX:+UseSerialGC"];
    let program = Program::java(any_jvm(), options, &vm_options).program("dump", "FullDisk");
    let script = format!(
        "set -e; mkdir small; mount -t tmpfs -o size={megabytes}m none small; \"$@\" {redirection}; ls small > left; cp small/x.hprof ."
    );
    fs::write(program.folder().join("script"), script).expect("a script");
    Some(
        program
            .wrapped_in("unshare --user --map-root-user --mount sh script")
            .run_well(),
    )
}

#[test]
fn a_dump_that_would_fill_the_disk_is_refused_and_the_sites_are_written() {
    let Some(run) = on_a_disk_of(24, "heap=all") else {
        return;
    };
    let refusal = "hprof: no heap dump: it may take ";
    assert_eq!(run.stderr.matches(refusal).count(), 1, "{}", run.stderr);
    assert!(
        run.stderr
            .contains(" are free in small; the program continues"),
        "{}",
        run.stderr
    );
    assert_eq!(run.read("left"), "x.hprof\n");
    let profile = Profile::parse(&run.checked_text("x.hprof"));
    let arrays = profile
        .one_sites()
        .rows
        .iter()
        .find(|row| row.class == "byte[]");
    assert!(arrays.is_some_and(|row| row.live >= 40), "{arrays:?}");
}

#[test]
fn the_disk_of_a_descriptor_is_that_of_its_file() {
    let options = "heap=all,format=b,file=/dev/fd/3";
    let redirection = "3>small/x.hprof";
    let Some(run) = run_on_a_disk_of(24, options, redirection) else {
        return;
    };
    let refusal = "/small; the program continues\n";
    assert_eq!(run.stderr.matches(refusal).count(), 1, "{}", run.stderr);
    run.checked_text("x.hprof");
    let run = run_on_a_disk_of(160, options, redirection).expect("as before");
    assert!(
        run.stderr
            .contains("Java heap (by the VM's dumper: the fastest"),
        "{}",
        run.stderr
    );
    assert_eq!(run.read("left"), "x.hprof\n");
    let (is_whole, _, fault) = run.hprof("check", "x.hprof");
    assert!(is_whole, "{fault}");
}

#[test]
fn a_disk_with_room_for_one_copy_gets_a_dump_over_jvmti() {
    let Some(run) = on_a_disk_of(72, "heap=all") else {
        return;
    };
    assert!(
        run.stderr.contains("Java heap (by JVMTI: it may take "),
        "{}",
        run.stderr
    );
    let (is_whole, _, fault) = run.hprof("check", "x.hprof");
    assert!(is_whole, "{fault}");
}

#[test]
fn a_disk_with_room_for_both_copies_gets_the_dump_of_the_vm() {
    let Some(run) = on_a_disk_of(160, "heap=all") else {
        return;
    };
    assert!(
        run.stderr
            .contains("Java heap (by the VM's dumper: the fastest"),
        "{}",
        run.stderr
    );
}
