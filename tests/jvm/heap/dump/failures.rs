//! Failures of a dump cost only the dump, and leave no files behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{DUMP, program, read};
use crate::harness::{Finished, Jvm, any_jvm};

/// Only the VM's dumper: the other one needs no temporary file.
const BY_VM: &str = "heap=dump,format=b,dumper=vm,file=x.hprof";

/// Returns the agent's own lines.
fn lines(run: &Finished) -> Vec<&str> {
    let lines = run.stderr.lines();
    lines.filter(|line| line.starts_with("hprof: ")).collect()
}

on_every_jvm!(a_file_that_may_not_grow_ends_the_dump_and_not_the_program, and 25);

fn a_file_that_may_not_grow_ends_the_dump_and_not_the_program(jvm: &Jvm) {
    // A limit of 512 KB, and a heap that takes more.
    let run = program(jvm, BY_VM, &[], "Traces").arg("20000");
    let run = run.after("ulimit -f 512").run_well();
    assert!(run.stdout.contains("made 20000"), "{}", run.stderr);
    let line = "hprof: no heap dump: the VM's dumper failed: File too large; the program continues";
    assert_eq!(lines(&run), [line], "{}", jvm.feature);
    assert_eq!(run.files(), ["x.hprof"], "what the VM wrote is gone");
    assert_eq!(run.read_dumps(), 0);
}

on_every_jvm!(the_output_may_not_grow_while_a_dump_is_written, and 26);

fn the_output_may_not_grow_while_a_dump_is_written(jvm: &Jvm) {
    // The VM's file is within the limit, the rewritten one is not: a second dump goes into the same file.
    let run = program(jvm, BY_VM, &[], "Starting")
        .after("ulimit -f 8000")
        .start();
    run.wait_for_output("ready");
    for number in 1..=6 {
        run.send("QUIT");
        let ends = || [" done.\n", " failed.\n"].map(|end| run.stderr().matches(end).count());
        run.wait_until(|| ends().iter().sum::<usize>() >= number);
    }
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.stdout.ends_with("done\n"), "{}", run.stderr);
    let line = "hprof: x.hprof: File too large (os error 27); the profile ends here, the program continues";
    assert_eq!(
        run.stderr.matches(line).count(),
        1,
        "{}: {}",
        jvm.feature,
        run.stderr
    );
    assert_eq!(run.files(), ["go", "x.hprof"]);
    assert!(run.read_dumps() >= 1, "what was written before is whole");
}

on_every_jvm!(the_folder_may_go_while_the_program_runs, and 17);

fn the_folder_may_go_while_the_program_runs(jvm: &Jvm) {
    let options = BY_VM.replace("x.hprof", "gone/x.hprof");
    let program = program(jvm, &options, &[], "Graph");
    fs::create_dir(program.folder().join("gone")).expect("a folder");
    let run = program.start();
    run.wait_for_output("ready");
    fs::remove_dir_all(run.path("gone")).expect("it goes");
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success() && run.stdout.ends_with("done\n"));
    let line =
        "hprof: no heap dump: gone: No such file or directory (os error 2); the program continues";
    assert_eq!(lines(&run), [line], "{}", jvm.feature);
}

#[test]
fn what_lies_about_is_left_alone_and_the_dump_is_the_users_alone() {
    let program =
        program(any_jvm(), BY_VM, &[], "Graph").after("umask 000; mkdir .x.hprof.$$.0; touch go");
    let run = program.run_well();
    let files = run.files();
    assert_eq!(files.len(), 3, "{files:?}");
    assert_eq!(files[1..], ["go", "x.hprof"]);
    assert!(files[0].starts_with(".x.hprof."), "another one's folder");
    let mode = fs::metadata(run.path("x.hprof"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(read(&run).dumps.len(), 1);
}

on_every_jvm!(letters_that_the_locale_does_not_know_are_no_matter, and 28);

fn letters_that_the_locale_does_not_know_are_no_matter(jvm: &Jvm) {
    let options = BY_VM.replace("x.hprof", "\u{4e16}/x.hprof");
    let program = program(jvm, &options, &[], "Graph").env("LC_ALL", "C");
    let folder = program.folder().to_owned();
    fs::create_dir(folder.join("\u{4e16}")).expect("a folder");
    fs::write(folder.join("go"), "").expect("a file");
    let run = program.run_well();
    assert_eq!(lines(&run), [""; 0], "{}", jvm.feature);
    let file = super::heap::File::read(&run.path("\u{4e16}/x.hprof"));
    assert_eq!(file.dumps.len(), 1);
}

on_every_jvm!(an_end_in_the_middle_of_a_dump_leaves_nothing_behind, and 25);

fn an_end_in_the_middle_of_a_dump_leaves_nothing_behind(jvm: &Jvm) {
    let run = program(jvm, BY_VM, &[], "Starting").start();
    run.wait_for_output("ready");
    run.send("QUIT");
    run.send("TERM");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(143), "{}", run.stderr);
    assert_eq!(run.files(), ["x.hprof"], "{}", run.stderr);
}

on_every_jvm!(a_dump_that_broke_off_says_so_in_the_file, and 26);

fn a_dump_that_broke_off_says_so_in_the_file(jvm: &Jvm) {
    let run = program(jvm, BY_VM, &[], "Traces").arg("20000");
    let run = run.after("ulimit -f 512").run_well();
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    let reason =
        "a heap dump broke off before its first record: the VM's dumper failed: File too large";
    assert!(!sound && fault.contains(reason), "{}: {fault}", jvm.feature);
    assert!(run.stderr.ends_with(" failed.\n"), "{}", run.stderr);
}

on_every_jvm!(a_text_that_finds_no_room_to_wait_for_its_totals_says_so, and 17);

fn a_text_that_finds_no_room_to_wait_for_its_totals_says_so(jvm: &Jvm) {
    let options = "heap=dump,dumper=jvmti,file=x.txt";
    let run = program(jvm, options, &[], "Traces").arg("20000");
    let run = run.after("ulimit -f 512").run_well();
    let line = "hprof: no heap dump: File too large (os error 27); the program continues";
    assert_eq!(lines(&run), [line], "{}", jvm.feature);
    assert!(run.stderr.ends_with(" failed.\n"), "{}", run.stderr);
    let text = run.read("x.txt");
    let broke_off = "HEAP DUMP BROKE OFF (File too large (os error 27))\n(";
    let (_, rest) = text.split_once(broke_off).expect("it broke off");
    assert!(rest.contains("(end of the profile, after "), "{rest}");
    assert_eq!(run.files(), ["x.txt"]);
}

#[test]
fn what_a_killed_program_left_blocks_no_text() {
    let options = "heap=dump,dumper=jvmti,file=x.txt";
    let run = program(any_jvm(), options, &[], "Graph")
        .after("touch go .hprof.$$.spool .hprof.$$.0.spool")
        .run_well();
    assert_eq!(lines(&run), [""; 0], "{}", run.stderr);
    assert!(run.read("x.txt").contains("HEAP DUMP END"));
}

#[test]
fn folders_of_killed_programs_are_swept() {
    // A number that no process has.
    let killed = ".x.hprof.4000000001.0";
    let run = program(any_jvm(), BY_VM, &[], "Graph")
        .after(&format!("touch go; mkdir {killed}; touch {killed}/heap"))
        .run_well();
    assert_eq!(run.files(), ["go", "x.hprof"], "{}", run.stderr);
}

/// The message of `hprof check` about a file that has only the announcement of its dump.
const MISSING: &str = "a heap dump is announced here and is not in the file";

#[test]
fn a_dump_that_the_disk_has_no_room_for_is_missed() {
    for options in [
        "heap=dump,dumper=jvmti,format=b,file=x.hprof",
        "heap=dump,dumper=jvmti,format=b,compress=y,file=x.hprof",
    ] {
        // Enough for the records before the dump. No mark can be written after the write that failed.
        let run = program(any_jvm(), options, &[], "Traces").arg("20000");
        let run = run.after("ulimit -f 40").run_well();
        let lost = "the profile ends here, the program continues";
        assert!(run.stderr.contains(lost), "{}", run.stderr);
        let (sound, _, fault) = run.hprof("check", "x.hprof");
        let expected = match options.contains("compress") {
            true => "the compressed data ends before its end",
            false => MISSING,
        };
        assert!(!sound && fault.contains(expected), "{options}: {fault}");
    }
}

#[test]
fn a_dump_that_a_kill_prevents_is_missed() {
    let run = program(any_jvm(), DUMP, &[], "Graph").start();
    run.wait_for_output("ready");
    run.send("KILL");
    let run = run.wait();
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(!sound && fault.contains(MISSING), "{fault}");
    // No dump was requested.
    let run = program(any_jvm(), &format!("{DUMP},doe=n"), &[], "Graph").after("touch go");
    let run = run.run_well();
    let (sound, _, fault) = run.hprof("check", "x.hprof");
    assert!(sound, "{fault}");
}
