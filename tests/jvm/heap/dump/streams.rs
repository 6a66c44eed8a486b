//! Heap dumps through pipes, from programs without a disk.

use std::fs;
use std::process::{Command, Stdio};

use crate::harness::{Finished, Jvm, Program, any_jvm, cli, may_mount, skip};

/// Runs `FullDisk`, whose dump takes 40 MB, with a pipe as its file, and with no other place to write to than its own
/// folder: the pipe and `TMPDIR` are on a file system of 1 MB, which takes no writes if `is_read_only`. `reader` reads the
/// pipe. `None` where that cannot be made.
fn through_a_pipe(jvm: &Jvm, options: &str, is_read_only: bool, reader: &str) -> Option<Finished> {
    if !may_mount() {
        skip("heap dumps without a disk: this user may not mount a file system of its own");
        return None;
    }
    let options = format!("{options},file=small/pipe");
    let vm_options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData"];
    let program = Program::java(jvm, &options, &vm_options).program("dump", "FullDisk");
    let close = match is_read_only {
        true => "mount -o remount,ro small",
        false => "true",
    };
    let script = format!(
        "set -e; mkdir small; mount -t tmpfs -o size=1m none small; mkfifo small/pipe; {close}
         (set -o pipefail; {reader}) < small/pipe & reading=$!
         TMPDIR=$PWD/small \"$@\"; wait $reading || echo $? > failed; ls -A small > left"
    );
    fs::write(program.folder().join("script"), script).expect("a script");
    Some(
        program
            .wrapped_in("unshare --user --map-root-user --mount bash script")
            .run_well(),
    )
}

on_every_jvm!(a_dump_goes_through_a_pipe_without_a_disk, and 26);

fn a_dump_goes_through_a_pipe_without_a_disk(jvm: &Jvm) {
    let reader = format!("tee copy.hprof | '{}' check - > checked", cli().display());
    let Some(run) = through_a_pipe(jvm, "heap=all,format=b", true, &reader) else {
        return;
    };
    assert!(
        run.stderr
            .contains("Java heap (by JVMTI: it needs no temporary file; "),
        "{}",
        run.stderr
    );
    assert!(!run.path("failed").exists(), "{}", run.stderr);
    assert_eq!(run.read("left"), "pipe\n");
    assert!(run.read("checked").contains(" 1 HEAP DUMP END"));
    let output = Command::new(cli())
        .args(["heap", "histogram", "-"])
        .stdin(fs::File::open(run.path("copy.hprof")).expect("the copy"))
        .stderr(Stdio::inherit())
        .output()
        .expect("hprof");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let bytes = fs::metadata(run.path("copy.hprof"))
        .expect("the copy")
        .len();
    assert!(
        said.contains("byte[]") && bytes > 40 << 20,
        "{bytes} {said}"
    );
}

#[test]
fn the_text_of_a_dump_needs_room_for_one_copy_and_is_refused_without() {
    let Some(run) = through_a_pipe(any_jvm(), "heap=all,format=a", false, "cat > copy.txt") else {
        return;
    };
    let refusal = "hprof: no heap dump: it may take ";
    assert_eq!(run.stderr.matches(refusal).count(), 1, "{}", run.stderr);
    assert_eq!(run.read("left"), "pipe\n");
    let copy = run.read("copy.txt");
    assert!(copy.contains("SITES END") && !copy.contains("HEAP DUMP BEGIN"));
}

#[test]
fn a_reader_that_leaves_costs_the_dump_and_not_the_program() {
    let options = "heap=dump,format=b,file=pipe";
    let run = Program::java(any_jvm(), options, &["-Xmx128m"])
        .program("dump", "FullDisk")
        .after("mkfifo pipe; head -c 3000000 pipe >/dev/null &")
        .run_well();
    let lost = "pipe: Broken pipe";
    assert_eq!(run.stderr.matches(lost).count(), 1, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("; the profile ends here, the program continues")
    );
}
